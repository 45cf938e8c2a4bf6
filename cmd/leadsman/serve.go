package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve KEDA's external scaler over the configured sources",
		Long: `Serve KEDA's external scaler over the configured sources.

The configuration is a YAML file (--config or LEADSMAN_CONFIG); environment variables come before it, and flags
before both. One source can come from the environment alone: LEADSMAN_URL and LEADSMAN_PRESET. With no source at
all, leadsman makes a queue of its own in the working folder, leadsman.db, to try things out with.

KEDA asks over gRPC. HTTP has an address of its own, for KEDA's metrics-api trigger, scripts, probes and Prometheus.

Access rules and certificates are picked up within seconds when their files change; other keys at a restart.`,
		Example: `  # Try it: a queue of its own, in leadsman.db
  leadsman serve

  # River on PostgreSQL
  LEADSMAN_URL=postgres://reader@db/app leadsman serve

  # In a cluster
  leadsman serve --config /etc/leadsman/leadsman.yaml --log-format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			load := func() (Config, error) {
				return Load(Inputs{Flags: cmd.Flags(), Getenv: os.Getenv, Presets: presets})
			}
			cfg, err := load()
			if err != nil {
				return fmt.Errorf("the configuration cannot be used:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
			}
			return serve(cmd.Context(), &cfg, load, cmd.ErrOrStderr())
		},
	}
	AddFlags(cmd.Flags())
	return cmd
}

// serve runs a server until ctx is done. reload reads the configuration again.
func serve(ctx context.Context, cfg *Config, reload func() (Config, error), logs io.Writer) error {
	log := newLogger(cfg.Log, logs)
	for _, warning := range cfg.Warnings {
		log.Warn("configuration", "warning", warning)
	}
	n, err := newNode(ctx, cfg, log)
	if err != nil {
		return err
	}
	var reloading sync.WaitGroup
	reloadCtx, stopReloading := context.WithCancel(ctx)
	reloading.Go(func() {
		(&reloader{server: n.server, tls: n.secure, file: cfg.File, load: reload, log: log}).run(reloadCtx)
	})
	err = n.run(ctx)
	stopReloading()
	reloading.Wait()
	if err != nil {
		return &failedError{err}
	}
	log.Info("stopped")
	return nil
}

func newLogger(cfg LogConfig, to io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: cfg.Level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(to, opts))
	}
	return slog.New(slog.NewTextHandler(to, opts))
}
