package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/storage/driver"
)

// doctorOptions say what is to be examined.
type doctorOptions struct {
	files  []string
	queues []string
	output string
	strict bool
	live   bool
}

// newDoctorCommand makes "leadsman doctor", which examines the sources of a configuration, or lints manifests.
func newDoctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [SOURCE…] | doctor -f FILE…",
		Short: "Find out what is wrong: with the sources of a configuration, or with manifests",
		Long: `Find out what is wrong: with the sources of a configuration, or with manifests.

Without -f, doctor takes the server's configuration, connects to each source as the server would, and says what it found
and what to do about it: whether the source is reached and read, what the role may not read (with the GRANT or the ACL line
to copy), whether the tables are of a known version, whether row-level security hides rows, what a sample costs, how far
the clocks are apart, which queues there are, and in which way changes are noticed, and why not in a better one. Nothing
is changed, and no job is touched. No server needs to run.

With -f it reads ScaledObjects, ScaledJobs, HorizontalPodAutoscalers and the Deployments, TriggerAuthentications and
PrometheusRules beside them from YAML or JSON, - for standard input, and finds what a cluster takes and then scales wrong.
Every trigger of type external and external-push is taken for leadsman's, and so is one of type metrics-api whose URL is
/api/scaler, and one of type prometheus whose query has leadsman's series. With a configuration, the sources that they name
are held against it, and with --live their queues against those that the sources have.

A finding is ok, a note (worth knowing), warn (it works, and is hardly meant so) or fail (it does not work). The exit code
is 1 where something fails, and with --strict where something is to be warned of.`,
		Example: `  leadsman doctor --config /etc/leadsman/leadsman.yaml
  leadsman doctor mail --queue mail-out
  LEADSMAN_URL=postgres://reader@db/app leadsman doctor

  # In a cluster, as the server sees it
  kubectl -n leadsman exec deploy/leadsman -- /leadsman doctor --config /etc/leadsman/leadsman.yaml

  # Manifests, before they are applied and as they are
  leadsman doctor -f deploy/worker.yaml --strict
  leadsman doctor -f deploy/worker.yaml --config leadsman.yaml --live
  kubectl get scaledobject,scaledjob,hpa,deployment -A -o yaml | leadsman doctor -f -`,
		RunE: o.run,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			cfg, _ := loadConfig(cmd)
			names := make([]cobra.Completion, len(cfg.Sources))
			for i := range cfg.Sources {
				names[i] = cfg.Sources[i].Name
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := cmd.Flags()
	flags.String("config", "", "configuration file, YAML (LEADSMAN_CONFIG)")
	flags.StringArrayVarP(&o.files, "file", "f", nil, "YAML or JSON file with manifests to lint, - for standard input; repeat for more")
	flags.StringArrayVar(&o.queues, "queue", nil, "a queue that a trigger names, to see whether it is known; repeat for more")
	flags.BoolVar(&o.live, "live", false, "with -f: read the configured sources, and say which queues of the manifests they do not have")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 where there is something to warn of")
	flags.StringVarP(&o.output, "output", "o", string(show.FormatTable), "table, json or yaml")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml", "json") // these fail for an unknown flag only
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(doctorFormats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// doctorFormats are those of show but for the wide table: doctor's table has all its columns.
func doctorFormats() []string {
	return slices.DeleteFunc(show.Formats(), func(name string) bool { return name == string(show.FormatWide) })
}

// loadConfig reads the configuration as the server does.
func loadConfig(cmd *cobra.Command) (Config, error) {
	cfg, err := Load(Inputs{Flags: cmd.Flags(), Getenv: os.Getenv, Presets: presets})
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be used:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return cfg, nil
}

func (o *doctorOptions) run(cmd *cobra.Command, args []string) error {
	if !slices.Contains(doctorFormats(), o.output) {
		return fmt.Errorf("--output: %q is none of %s", o.output, strings.Join(doctorFormats(), ", "))
	}
	cfg, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "leadsman: warning:", warning)
	}
	p := show.New(cmd.OutOrStdout(), show.Format(o.output), os.Getenv)
	if len(o.files) > 0 {
		if len(args) > 0 || len(o.queues) > 0 {
			return errors.New("-f lints manifests, and a source or --queue examines a source; leave one out")
		}
		return o.lint(cmd, &cfg, p)
	}
	if o.live {
		return errors.New("--live goes with -f; without it, doctor reads the sources anyway")
	}
	sources, err := doctorSources(&cfg, args)
	if err != nil {
		return err
	}
	reports := o.examine(cmd.Context(), sources)
	if err := printReports(p, reports); err != nil {
		return err
	}
	var levels []driver.Level
	for i := range reports {
		for _, f := range reports[i].findings {
			levels = append(levels, f.Level)
		}
	}
	return o.verdict(p, levels)
}

// doctorSources are those that are asked for, or all there are.
func doctorSources(cfg *Config, names []string) ([]SourceConfig, error) {
	if cfg.Embedded {
		if _, err := os.Stat(embeddedFile); err != nil {
			return nil, errors.New("no source is configured: name a file by --config, or set LEADSMAN_URL; " +
				"to lint manifests, name them by -f")
		}
		cfg.Sources = []SourceConfig{embeddedConfig(cfg.Sampling)}
	}
	byName := map[string]SourceConfig{}
	for i := range cfg.Sources {
		byName[cfg.Sources[i].Name] = cfg.Sources[i]
	}
	if len(names) == 0 {
		return cfg.Sources, nil
	}
	chosen := make([]SourceConfig, len(names))
	for i, name := range names {
		c, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("unknown source %q; %s", name, meant(name, slices.Collect(maps.Keys(byName))))
		}
		chosen[i] = c
	}
	return chosen, nil
}

// examinedAtOnce bounds the sources that are examined at a time.
const examinedAtOnce = 8

// examine examines sources, several at a time; the reports are in their order.
func (o *doctorOptions) examine(ctx context.Context, sources []SourceConfig) []sourceReport {
	reports := make([]sourceReport, len(sources))
	var group errgroup.Group
	group.SetLimit(examinedAtOnce)
	for i := range sources {
		group.Go(func() error {
			reports[i] = examineSource(ctx, &sources[i], o.queues, slog.New(slog.DiscardHandler))
			return nil
		})
	}
	_ = group.Wait() // none fails: what does is a finding
	return reports
}

// verdict counts findings, says so under a table, and is the command's error.
func (o *doctorOptions) verdict(p *show.Printer, levels []driver.Level) error {
	count := map[driver.Level]int{}
	for _, level := range levels {
		count[level]++
	}
	warned, failed := count[driver.LevelWarn], count[driver.LevelFail]
	sum := fmt.Sprintf("%d ok, %d to note, %d to warn of, %d failed", count[driver.LevelOK], count[driver.LevelNote], warned, failed)
	if !p.IsData() {
		if err := p.Linef("\n%s", sum); err != nil {
			return err
		}
	}
	switch {
	case failed > 0:
		return &failedError{fmt.Errorf("of %d findings, %d say what does not work", len(levels), failed)}
	case o.strict && warned > 0:
		return &failedError{fmt.Errorf("of %d findings, %d are warnings, and --strict is set", len(levels), warned)}
	default:
		return nil
	}
}
