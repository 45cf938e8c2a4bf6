package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"log/slog"
	"os"
	"time"

	"github.com/leadsman/leadsman/scaler"
)

// reloadEvery is how often the files are looked at. They are read whole: a mounted Secret changes by a swap of
// symbolic links that file events do not report everywhere, and the files are small.
const reloadEvery = 2 * time.Second

// A reloader puts changed access rules and certificates in force. Passwords of sources need none: their files are
// read for every new connection.
type reloader struct {
	server *scaler.Server
	tls    []*scaler.TLS // of the listeners that are not plaintext
	file   string        // the configuration file; "" for none
	load   func() (Config, error)
	log    *slog.Logger
	seen   [sha256.Size]byte // digest of the file as it is in force
	bad    [sha256.Size]byte // digest of the last one that could not be used
}

// run looks until ctx is done.
func (r *reloader) run(ctx context.Context) {
	r.seen, _ = r.digest()
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.reloadAccess()
			for _, secure := range r.tls {
				_, _ = secure.Reload() // it logs what it comes to
			}
		}
	}
}

func (r *reloader) digest() (sum [sha256.Size]byte, ok bool) {
	if r.file == "" {
		return sum, false
	}
	data, err := os.ReadFile(r.file)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return sum, false // it is being replaced; a file that stays away changes nothing
	}
	return sha256.Sum256(data), true
}

// reloadAccess puts a changed file in force. It goes on trying a version that cannot be used, because what is wrong
// may be a file that it names, caught in the middle of a rotation; it complains of each version once.
func (r *reloader) reloadAccess() {
	sum, ok := r.digest()
	if !ok || sum == r.seen {
		return
	}
	cfg, err := r.load()
	if err == nil {
		err = r.server.SetAccess(cfg.Access)
	}
	if err != nil {
		if sum != r.bad {
			r.log.Error("the changed configuration cannot be used; the old access rules stay in force", "file", r.file, "error", err)
		}
		r.bad = sum
		return
	}
	r.seen = sum
	r.log.Info("access rules are reloaded; other keys take effect at a restart", "file", r.file,
		"tokens", len(cfg.Access.Tokens), "clients", len(cfg.Access.Clients))
}
