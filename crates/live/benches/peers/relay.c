// What a relay on libnetfilter_queue and libmnl is like: packets of a queue are read one after the other, and one message
// accepts all that were read (NFQNL_MSG_VERDICT_BATCH). With `change` each packet's last four bytes are written, and it
// goes back by a verdict of its own, as many in one call as there were.
// cc -O2 relay.c -lnetfilter_queue -lmnl; usage: relay QUEUE [gso | change]
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH 64
#define PLACE (0xffff + 4096)

static char in[PLACE];
static char out[BATCH * 2048 + 2 * PLACE];

static struct nlmsghdr *head(char *at, int type, int queue)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(at);
	message->nlmsg_type = (NFNL_SUBSYS_QUEUE << 8) | type;
	message->nlmsg_flags = NLM_F_REQUEST;
	struct nfgenmsg *about = mnl_nlmsg_put_extra_header(message, sizeof *about);
	about->nfgen_family = AF_UNSPEC;
	about->version = NFNETLINK_V0;
	about->res_id = htons(queue);
	return message;
}

static void say(struct mnl_socket *socket, const void *bytes, size_t len)
{
	if (len > 0 && mnl_socket_sendto(socket, bytes, len) < 0) {
		perror("sendto");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int queue = argc > 1 ? atoi(argv[1]) : 0;
	int change = argc > 2 && !strcmp(argv[2], "change");
	int gso = argc > 2 && !strcmp(argv[2], "gso");
	struct mnl_socket *socket = mnl_socket_open(NETLINK_NETFILTER);
	if (!socket || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
		perror("socket");
		return 1;
	}
	int fd = mnl_socket_get_fd(socket), room = 128 << 20, one = 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
	setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &one, sizeof one);
	room = 8 << 20;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);

	struct nlmsghdr *message = head(out, NFQNL_MSG_CONFIG, queue);
	nfq_nlmsg_cfg_put_cmd(message, AF_INET, NFQNL_CFG_CMD_BIND);
	say(socket, message, message->nlmsg_len);
	message = head(out, NFQNL_MSG_CONFIG, queue);
	nfq_nlmsg_cfg_put_params(message, NFQNL_COPY_PACKET, 0xffff);
	nfq_nlmsg_cfg_put_qmaxlen(message, 4096);
	mnl_attr_put_u32(message, NFQA_CFG_FLAGS, htonl(gso ? NFQA_CFG_F_GSO : 0));
	mnl_attr_put_u32(message, NFQA_CFG_MASK, htonl(NFQA_CFG_F_GSO));
	say(socket, message, message->nlmsg_len);

	unsigned last = 0;
	int count = 0;
	size_t used = 0;
	for (;;) {
		ssize_t got = recv(fd, in, sizeof in, MSG_DONTWAIT);
		if (got < 0 && errno != EAGAIN && errno != EINTR) {
			perror("recv");
			return 1;
		}
		if (got > 0) {
			struct nlattr *attributes[NFQA_MAX + 1] = {0};
			struct nlmsghdr *packet = (struct nlmsghdr *)in;
			if ((packet->nlmsg_type & 0xff) != NFQNL_MSG_PACKET ||
			    packet->nlmsg_type == NLMSG_ERROR ||
			    nfq_nlmsg_parse(packet, attributes) < 0 || !attributes[NFQA_PACKET_HDR])
				continue;
			struct nfqnl_msg_packet_hdr *about =
				mnl_attr_get_payload(attributes[NFQA_PACKET_HDR]);
			last = ntohl(about->packet_id);
			count++;
			if (change && attributes[NFQA_PAYLOAD]) {
				char *bytes = mnl_attr_get_payload(attributes[NFQA_PAYLOAD]);
				unsigned len = mnl_attr_get_payload_len(attributes[NFQA_PAYLOAD]);
				memcpy(bytes + len - 4, "wire", 4);
				message = head(out + used, NFQNL_MSG_VERDICT, queue);
				nfq_nlmsg_verdict_put(message, last, NF_ACCEPT);
				nfq_nlmsg_verdict_put_pkt(message, bytes, len);
				used += MNL_ALIGN(message->nlmsg_len);
			}
		}
		if (count > 0 && (got < 0 || count >= BATCH || used > BATCH * 2048)) {
			if (!change) {
				message = head(out, NFQNL_MSG_VERDICT_BATCH, queue);
				nfq_nlmsg_verdict_put(message, last, NF_ACCEPT);
				used = message->nlmsg_len;
			}
			say(socket, out, used);
			count = 0;
			used = 0;
		}
		if (got < 0) {
			struct pollfd poll_in = {.fd = fd, .events = POLLIN};
			poll(&poll_in, 1, -1);
		}
	}
}
