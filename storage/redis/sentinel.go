package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
)

// bySentinel begins a session with the master that the sentinels name, and has it watched over.
func (e *Engine) bySentinel(ctx context.Context, t target) (*session, error) {
	address, err := e.master(ctx, t)
	if err != nil {
		return nil, err
	}
	at := t
	at.addresses = []string{address}
	s, err := e.dial(ctx, at)
	if err != nil {
		return nil, err
	}
	if !s.noRole.Load() {
		if err := s.takeRole(s.client.Do(ctx, s.client.B().Role().Build())); err != nil {
			s.end()
			return nil, err
		}
	}
	e.tasks.Go(func() { e.guard(s, t, address) })
	return s, nil
}

// master asks the sentinels, one after the other, where the master is.
func (e *Engine) master(ctx context.Context, t target) (string, error) {
	var failures []error
	for _, address := range t.addresses {
		client, err := e.sentinel(t, address)
		if err == nil {
			var found string
			found, err = ask(ctx, client, t.master)
			client.Close()
			if err == nil {
				return found, nil
			}
		}
		failures = append(failures, fmt.Errorf("sentinel %s: %w", address, classify(ctx, err)))
	}
	return "", &driver.Error{Kind: driver.Unavailable, Message: strings.ReplaceAll(errors.Join(failures...).Error(), "\n", "; ")}
}

func ask(ctx context.Context, client rueidis.Client, master string) (string, error) {
	parts, err := client.Do(ctx, client.B().SentinelGetMasterAddrByName().Master(master).Build()).AsStrSlice()
	if rueidis.IsRedisNil(err) || err == nil && len(parts) != 2 {
		return "", driver.Errorf(driver.Schema, "it watches no master named %q; correct the URL's path", master)
	}
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(parts[0], parts[1]), nil
}

// sentinel connects to one sentinel.
func (e *Engine) sentinel(t target, address string) (rueidis.Client, error) { //nolint:ireturn // rueidis's client is an interface
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{address}, Username: t.sentinelUsername, Password: t.sentinelPassword, TLSConfig: t.tls,
		ForceSingleClient: true, PipelineMultiplex: -1, DisableRetry: true, DisableCache: true,
		ClientSetInfo: rueidis.DisableClientSetInfo, ConnWriteTimeout: e.timing.pong,
		Dialer: net.Dialer{Timeout: e.cfg.Timeout, KeepAlive: e.timing.ping},
	})
}

// guard ends the session when a sentinel says that there is another master. It listens to one sentinel after the
// other, because a master that is cut off from them looks well from here.
func (e *Engine) guard(s *session, t target, master string) {
	for i := 0; ; i++ {
		if e.hearOfSwitch(s.life, t, t.addresses[i%len(t.addresses)], master) {
			e.drop(s)
			return
		}
		select {
		case <-s.life.Done():
			return
		case <-time.After(e.timing.backoffMax):
		}
	}
}

// hearOfSwitch returns true when a sentinel names another master, and false when it cannot be listened to any more.
func (e *Engine) hearOfSwitch(ctx context.Context, t target, address, master string) bool {
	client, err := e.sentinel(t, address)
	if err != nil {
		return false
	}
	defer client.Close()
	listener, release := client.Dedicate()
	defer release()
	switched := make(chan struct{}, 1)
	gone := listener.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) {
		if name, _, _ := strings.Cut(m.Message, " "); name == t.master {
			select {
			case switched <- struct{}{}:
			default:
			}
		}
	}})
	if err := listener.Do(ctx, listener.B().Subscribe().Channel("+switch-master").Build()).Error(); err != nil {
		return false
	}
	// What was announced before the subscription is asked for.
	if now, err := ask(ctx, client, t.master); err == nil && now != master {
		return true
	}
	select {
	case <-switched:
		return true
	case <-gone: //nolint:errcheck // why does not matter: the next sentinel is asked
		return false
	case <-ctx.Done():
		return false
	}
}
