"""What passes between a client and us: its payloads, our answers, records that others send."""
