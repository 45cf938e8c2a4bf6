package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/inspect"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/scaler/web/page"
)

// A node is what one process serves: gRPC and, beside it, HTTP.
type node struct {
	server *scaler.Server
	front  *front        // nil where there is no HTTP
	secure []*scaler.TLS // certificates of the listeners that are not plaintext
}

// newNode makes the node of a configuration, listening already, with nothing started.
func newNode(ctx context.Context, cfg *Config, log *slog.Logger) (_ *node, err error) {
	if cfg.Embedded {
		src, err := embeddedSource(ctx, cfg.Sampling)
		if err != nil {
			return nil, &failedError{err}
		}
		cfg.Sources = []SourceConfig{src}
		log.Info("nothing is configured: serving a queue of its own", "file", "leadsman.db", "try", "leadsman enqueue default")
	}
	n := &node{}
	opts := scaler.Options{Access: cfg.Access, ShutdownTimeout: cfg.ShutdownTimeout, Logger: log}
	if opts.TLS, err = n.certificate(cfg.GRPC.TLS, log); err != nil {
		return nil, err
	}
	if opts.Sources, err = openSources(cfg.Sources, log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeSources(opts.Sources)
		}
	}()
	if opts.Listener, err = listen(ctx, "grpc.listen", cfg.GRPC.Listen); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = opts.Listener.Close() // nothing has been asked of it
		}
	}()
	if err := n.assemble(ctx, cfg, opts); err != nil {
		return nil, err
	}
	log.Info("serving", "version", versionName(), "grpc", opts.Listener.Addr().String(), "tls", opts.TLS != nil,
		"http", n.front.address(), "sources", len(opts.Sources), "tokens", len(cfg.Access.Tokens),
		"client_certificates", cfg.Access.ClientCA)
	return n, nil
}

// certificate loads the certificate of a listener; nil is plaintext.
func (n *node) certificate(files *scaler.Files, log *slog.Logger) (*scaler.TLS, error) {
	if files == nil {
		return nil, nil //nolint:nilnil // no certificate is none
	}
	secure, err := scaler.NewTLS(*files, log)
	if err != nil {
		return nil, err
	}
	n.secure = append(n.secure, secure)
	return secure, nil
}

// assemble makes the server with all its services, and the front where there is to be one.
func (n *node) assemble(ctx context.Context, cfg *Config, opts scaler.Options) (err error) {
	if cfg.HTTP.Listen == "" {
		n.server, err = newServer(opts)
		return err
	}
	f := &front{Server: web.Server{ShutdownTimeout: cfg.ShutdownTimeout, Logger: opts.Logger}}
	if f.TLS, err = n.certificate(cfg.HTTP.TLS, opts.Logger); err != nil {
		return err
	}
	registry := newRegistry()
	opts.Metrics = registry
	if n.server, err = newServer(opts); err != nil {
		return err
	}
	if f.page, err = page.New(page.Options{Scaler: n.server, Everybody: cfg.HTTP.Everybody, Logger: opts.Logger}); err != nil {
		return err
	}
	if f.Handler, err = web.New(web.Options{
		Scaler: n.server, Everybody: cfg.HTTP.Everybody, Gatherer: registry, Metrics: registry, Page: f.page, Logger: opts.Logger,
	}); err != nil {
		return err
	}
	n.front = f
	f.listener, err = listen(ctx, "http.listen", cfg.HTTP.Listen) // last: nothing can fail after it
	return err
}

func newServer(opts scaler.Options) (*scaler.Server, error) {
	server, err := scaler.New(opts)
	if err != nil {
		return nil, err
	}
	inspect.Register(server)
	return server, nil
}

// listen begins to listen at the address that a key names.
func listen(ctx context.Context, key, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, &failedError{fmt.Errorf("%s: %w", key, err)}
	}
	return listener, nil
}

// run serves until ctx is done, HTTP for longer than gRPC: probes and Prometheus are told that the server ends until
// it has ended. Where either fails, both end.
func (n *node) run(ctx context.Context) error {
	if n.front == nil {
		return n.server.Run(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	showing, hide := context.WithCancel(context.WithoutCancel(ctx))
	defer hide()
	hidden := make(chan error, 1)
	go func() {
		defer end()
		hidden <- n.front.serve(showing)
	}()
	err := n.server.Run(ctx)
	hide()
	return errors.Join(err, <-hidden)
}
