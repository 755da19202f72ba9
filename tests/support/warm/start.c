/* Stands for Python where hooks and commands of ours are started: has them run by a server that has
 * imported gitcp (server.py), or becomes Python, for whatever a forked process would not be.
 *
 * Compiled with PYTHON, the Python to become, ENTRY and COMMAND, the paths of what hooks and of
 * what commands run, and HOOKS and COMMANDS, the sockets of their servers.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

extern char **environ;
static char text[1 << 20];
static size_t size;

/* Add a field to the request; 0 where it is too long. */
static int add(const char *field) {
	size_t more = strlen(field) + 1;
	if (size + more > sizeof text) return 0;
	memcpy(text + size, field, more);
	size += more;
	return 1;
}

static int add_number(long number) {
	char digits[32];
	snprintf(digits, sizeof digits, "%ld", number);
	return add(digits);
}

/* Whether this process is such as the server is: its rights, its limits, its encodings, no terminal. */
static int is_plain(void) {
	int terminal = open("/dev/tty", O_RDWR | O_NOCTTY);
	struct rlimit bytes, files;
	const char *locale = getenv("LC_ALL");
	if (terminal >= 0) {
		close(terminal);
		return 0;
	}
	for (char **one = environ; *one; one++) {
		if (strncmp(*one, "PYTHON", 6)) continue;
		if (strncmp(*one, "PYTHONUNBUFFERED=", 17) && strncmp(*one, "PYTHONDONTWRITEBYTECODE=", 24))
			return 0;
	}
	if (getenv("COLD") || getenv("GITCP_TRACE") || !locale || strcmp(locale, "C")) return 0;
	if (getrlimit(RLIMIT_FSIZE, &bytes) || bytes.rlim_cur != RLIM_INFINITY) return 0;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur < 256) return 0;
#ifdef __linux__
	if (geteuid() == 0 && prctl(PR_CAPBSET_READ, 1, 0, 0, 0) != 1) return 0;
#endif
	return 1;
}

/* How many arguments come before what is to be run, with the socket of who runs it; 0 for other
 * programs. */
static int find_program(int argc, char **argv, struct sockaddr_un *at) {
	const char *name = argc > 1 ? argv[1] : "";
	at->sun_family = AF_UNIX;
	if (argc > 4 && !strcmp(name, "-I") && !strcmp(argv[2], "-S") && !strcmp(argv[3], ENTRY)) {
		strcpy(at->sun_path, HOOKS);
		return 3;
	}
	if (strncmp(name, COMMAND, strlen(COMMAND)) || strchr(name + strlen(COMMAND), '/')) return 0;
	strcpy(at->sun_path, COMMANDS);
	return 1;
}

/* Write down what is to be run: the parent it sees, umask, directory, number of arguments, they,
 * environment. */
static int make_request(pid_t parent, int argc, char **argv) {
	char place[4096];
	mode_t mask = umask(0);
	umask(mask);
	if (!getcwd(place, sizeof place)) return 0;
	if (!add_number(parent) || !add_number(mask) || !add(place) || !add_number(argc)) return 0;
	for (int i = 0; i < argc; i++) if (!add(argv[i])) return 0;
	for (char **one = environ; *one; one++) if (!add(*one)) return 0;
	return 1;
}

/* Send the length of the request with the standard streams, then the request. */
static int send_request(int channel) {
	unsigned char head[8];
	union { char bytes[CMSG_SPACE(3 * sizeof(int))]; struct cmsghdr align; } control;
	struct iovec part = {head, sizeof head};
	struct msghdr message = {0};
	int files[3] = {0, 1, 2};
	for (int i = 0; i < 8; i++) head[i] = (unsigned char)(size >> (56 - 8 * i));
	memset(&control, 0, sizeof control);
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	message.msg_control = control.bytes;
	message.msg_controllen = sizeof control.bytes;
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof files);
	memcpy(CMSG_DATA(rights), files, sizeof files);
	if (sendmsg(channel, &message, 0) != sizeof head) return 0;
	for (size_t sent = 0; sent < size;) {
		ssize_t n = write(channel, text + sent, size - sent);
		if (n <= 0) return 0;
		sent += (size_t)n;
	}
	return 1;
}

int main(int argc, char **argv) {
	struct sockaddr_un at = {0};
	int channel, before = find_program(argc, argv, &at);
	/* A hook is known by its command line, which this process has too; a command by its pid. */
	pid_t parent = before == 3 ? getppid() : getpid();
	if (before && is_plain() && make_request(parent, argc - before, argv + before) &&
	    (channel = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0) {
		if (!connect(channel, (struct sockaddr *)&at, sizeof at) && send_request(channel)) {
			char answer[16] = "";
			if (read(channel, answer, sizeof answer - 1) <= 0) return 70;
			int status = atoi(answer);
			if (status < 0) { /* as the hook was ended, so is whoever stands for it */
				signal(-status, SIG_DFL);
				kill(getpid(), -status);
			}
			return status;
		}
		close(channel);
	}
	argv[0] = PYTHON;
	execv(PYTHON, argv);
	return 127;
}
