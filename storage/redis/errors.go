package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
)

var errTime = driver.Errorf(driver.Contract, "the server's reply to TIME is no time")

// refusal says that the server knows the connection and refuses the command: by its rules, or because it has none
// of that name.
func refusal(err error) bool {
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return false
	}
	text := strings.ToLower(e.Error())
	return strings.HasPrefix(text, "noperm") || strings.HasPrefix(text, "unknown command") ||
		strings.HasPrefix(text, "unknown subcommand") || strings.Contains(text, "not allowed")
}

// broken says that a session is of no use any more.
func broken(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // slow is not broken: the pings find out
	}
	e, ok := rueidis.IsRedisErr(err)
	if !ok {
		return true
	}
	return strings.HasPrefix(e.Error(), "NOAUTH") || strings.HasPrefix(e.Error(), "WRONGPASS") // the password has changed
}

// errNoTLS says that a server accepted a connection and did not answer to TLS.
var errNoTLS = errors.New("no answer to TLS")

// classify says what kind of failure err is and what to do about it.
func classify(ctx context.Context, err error) *driver.Error {
	if known, ok := errors.AsType[*driver.Error](err); ok {
		return known
	}
	if e, ok := rueidis.IsRedisErr(err); ok {
		return classifyReply(e, unknownUser)
	}
	kind, message := classifyConn(ctx, err)
	return &driver.Error{Kind: kind, Message: message, Err: err}
}

// replies are what a server's words mean, by how they begin.
var replies = []struct {
	begin  string
	kind   driver.Kind
	remedy string
}{
	{"WRONGPASS", driver.Denied, "the user or the password is wrong"},
	{"NOAUTH", driver.Denied, "the server wants a password; put it into the URL"},
	{"AUTH", driver.Denied, "the server has no password set; remove it from the URL"},
	{"invalid password", driver.Denied, "the password is wrong"},
	{"NOPERM", driver.Denied, "the user lacks a permission of the ACL line in the preset's README"},
	{"DB index is out of range", driver.Schema, "the server has fewer databases than the URL's number"},
	{"SELECT is not allowed in cluster mode", driver.Schema, "a cluster has database 0 only"},
	{"WRONGTYPE", driver.Schema, "the key holds something else than the preset expects; check preset, prefix and queue"},
	{"LOADING", driver.Unavailable, "the server is loading its data"},
	{"MASTERDOWN", driver.Unavailable, "the replica has lost its master"},
	{"CLUSTERDOWN", driver.Unavailable, "the cluster is down"},
	{"MOVED", driver.Unavailable, "the server is part of a cluster; begin the URL with redis+cluster:"},
	{"max number of clients", driver.Unavailable, "the server takes no more connections"},
	{"operation not permitted", driver.Denied, "the server wants a password"},
}

// classifyReply says what a server's words mean. user is whose connection it is.
func classifyReply(e *rueidis.RedisError, user string) *driver.Error {
	text := strings.TrimSpace(e.Error())
	for _, reply := range replies {
		if strings.HasPrefix(text, reply.begin) {
			message := fmt.Sprintf("%s (%s)", reply.remedy, text)
			if command, ok := lacks(text); ok {
				message += "; " + grantLine(user, command)
			}
			return &driver.Error{Kind: reply.kind, Message: message, Err: e}
		}
	}
	return &driver.Error{Kind: driver.Unavailable, Message: text, Err: e}
}

func classifyConn(ctx context.Context, err error) (driver.Kind, string) {
	var netErr net.Error
	_, unknownCA := errors.AsType[x509.UnknownAuthorityError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case notTLS:
		return driver.Unavailable, "the server does not speak TLS there; begin the URL with redis:"
	case errors.Is(err, errNoTLS):
		return driver.Unavailable, "the server does not answer to TLS; if it speaks none there, begin the URL with redis:"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		ctx.Err() != nil, errors.As(err, &netErr) && netErr.Timeout():
		return driver.Timeout, "the server did not answer in time"
	case unknownCA:
		return driver.Unavailable, "the server's certificate is signed by nobody known; name its authority with ?caFile="
	case errors.Is(err, syscall.ECONNREFUSED):
		return driver.Unavailable, "the server refuses connections: " + err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return driver.Unavailable, "the server closed the connection; if it speaks TLS there, begin the URL with rediss:"
	case errors.Is(err, rueidis.ErrClosing):
		return driver.Unavailable, "the connection is being replaced"
	}
	return driver.Unavailable, err.Error()
}

// refusals are the commands that the server refuses and reads can do without.
type refusals struct {
	mu  sync.Mutex
	why map[string]string
	all []string // said in other words
}

// note says something else to people, once.
func (r *refusals) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.all, text) {
		r.all = append(r.all, text)
	}
}

// add notes that a command is refused, and what is missing for it.
func (r *refusals) add(command, missing string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil {
		r.why = map[string]string{}
	}
	r.why[command] = missing
}

// notes says it to people.
func (r *refusals) notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.all)
	for _, command := range slices.Sorted(maps.Keys(r.why)) {
		out = append(out, fmt.Sprintf("%s is refused, so %s; grant %s", command, r.why[command], aclRule(command)))
	}
	return out
}
