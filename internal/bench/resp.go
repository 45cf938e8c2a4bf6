package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A respConn is the barest client of Redis: one connection, in whose caller's goroutine everything happens.
type respConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // commands not sent yet
}

// A respReply is what a server says, as far as anybody here wants to know.
type respReply struct {
	push bool   // nobody asked for it
	n    int64  // an integer
	text string // a string; of aggregates, nothing is kept
}

// dialRESP connects until ctx is done; whatever waits for the server fails then.
func dialRESP(ctx context.Context, addr string) (*respConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // it was to be interrupted
	return &respConn{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// trackRESP connects as an engine that tracks what it reads, in the default mode.
func trackRESP(ctx context.Context, addr string) (*respConn, error) {
	c, err := dialRESP(ctx, addr)
	if err != nil {
		return nil, err
	}
	for _, command := range [][]string{{"HELLO", "3"}, {"CLIENT", "TRACKING", "ON"}} {
		if _, err := c.do(command...); err != nil {
			return nil, errors.Join(err, c.conn.Close())
		}
	}
	return c, nil
}

// add puts a command into the pipeline.
func (c *respConn) add(command ...string) {
	c.out = fmt.Appendf(c.out, "*%d\r\n", len(command))
	for _, word := range command {
		c.out = append(c.out, '$')
		c.out = strconv.AppendInt(c.out, int64(len(word)), 10)
		c.out = append(c.out, '\r', '\n')
		c.out = append(c.out, word...)
		c.out = append(c.out, '\r', '\n')
	}
}

// flush sends the pipeline and awaits n replies.
func (c *respConn) flush(n int) error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	if err != nil {
		return err
	}
	for range n {
		if _, err := c.reply(); err != nil {
			return err
		}
	}
	return nil
}

// do sends one command and returns the reply to it.
func (c *respConn) do(command ...string) (respReply, error) {
	c.add(command...)
	if err := c.flush(0); err != nil {
		return respReply{}, err
	}
	return c.reply()
}

// reply returns the next message that was asked for.
func (c *respConn) reply() (respReply, error) {
	for {
		if m, err := c.receive(); err != nil || !m.push {
			return m, err
		}
	}
}

// await waits for a message that was not asked for.
func (c *respConn) await() error {
	for {
		if m, err := c.receive(); err != nil || m.push {
			return err
		}
	}
}

// receive reads one message.
func (c *respConn) receive() (respReply, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return respReply{}, err
	}
	if len(line) < 3 {
		return respReply{}, fmt.Errorf("redis: the line %q is no reply", line)
	}
	kind, body := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return respReply{text: string(body)}, nil
	case '-':
		return respReply{}, fmt.Errorf("redis: %s", body)
	case '_', '#', ',', '(':
		return respReply{}, nil
	}
	n, err := strconv.ParseInt(string(body), 10, 64)
	if err != nil {
		return respReply{}, fmt.Errorf("redis: the line %q is no reply: %w", line, err)
	}
	switch kind {
	case ':':
		return respReply{n: n}, nil
	case '$', '=':
		return c.bulk(int(n))
	case '%':
		n *= 2
	}
	for range n {
		if _, err := c.receive(); err != nil {
			return respReply{}, err
		}
	}
	return respReply{push: kind == '>'}, nil
}

// bulk reads a string of n bytes; below zero there is none.
func (c *respConn) bulk(n int) (respReply, error) {
	if n < 0 {
		return respReply{}, nil
	}
	text := make([]byte, n+len("\r\n"))
	_, err := io.ReadFull(c.in, text)
	return respReply{text: string(text[:n])}, err
}
