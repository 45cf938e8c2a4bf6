package main

import (
	"context"
	"strings"
	"sync/atomic"
)

// A bearer puts the token into the header of each call. It is read each time, because tokens rotate while a watch goes on.
type bearer struct {
	token Secret
	sent  atomic.Pointer[string] // with the last call; nil before the first
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b *bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := b.current()
	if err != nil {
		return nil, err
	}
	b.sent.Store(&token)
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Within a cluster, plaintext is common; a warning
// tells of it.
func (b *bearer) RequireTransportSecurity() bool { return false }

func (b *bearer) current() (string, error) {
	token, err := b.token.Get()
	return strings.TrimSpace(token), err
}

// last is the token that was sent with the last call, or why none could be.
func (b *bearer) last() (string, error) {
	if sent := b.sent.Load(); sent != nil {
		return *sent, nil
	}
	return b.current()
}

// rotated tells whether a call that was refused would be made with another token now, or whether there is none at this very
// moment: the file is being replaced.
func (b *bearer) rotated() bool {
	if b == nil || b.token.File() == "" {
		return false
	}
	token, err := b.current()
	sent := b.sent.Load()
	return err != nil || sent != nil && *sent != token
}
