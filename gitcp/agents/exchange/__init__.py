"""The exchange with clients: their payloads, gitcp's answers, records of other tools."""
