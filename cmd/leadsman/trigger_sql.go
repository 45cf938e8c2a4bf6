package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
)

// newTriggerSQLCommand makes "leadsman trigger-sql", which only prints: the server never changes a database.
func newTriggerSQLCommand() *cobra.Command {
	var schema string
	var drop bool
	cmd := &cobra.Command{
		Use:   "trigger-sql PRESET",
		Short: "Print the trigger that wakes leadsman on PostgreSQL where a job library announces nothing",
		Long: `Print the trigger that wakes leadsman on PostgreSQL where a job library announces nothing.

The SQL is for a database administrator to read and run, as the owner of the job library's tables: leadsman itself
changes no database. Once it is installed, leadsman finds it within half a minute, needs no more privileges than
before, and knows of a new job within a millisecond or so instead of asking four times a second; the source's mode
shows as "armed bell".

The trigger announces only while leadsman waits, so that inserts are hardly slowed down by it. What it costs, what
it leaves out, and how it is taken away again are said in the SQL's comments. A library with a trigger of its own
needs none.`,
		Example: `  leadsman trigger-sql delayed_job | psql -v ON_ERROR_STOP=1 postgres://owner@db/app
  leadsman trigger-sql pg_boss --schema jobs > bell.sql
  leadsman trigger-sql pg_boss --schema jobs --drop | psql -v ON_ERROR_STOP=1 postgres://owner@db/app`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(bellPresets(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			preset, err := bellPreset(args[0])
			if err != nil {
				return err
			}
			write := postgres.BellSQL
			if drop {
				write = postgres.BellDropSQL
			}
			text, err := write(*preset.Postgres, schema)
			if err != nil {
				return fmt.Errorf("--schema: %w", err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&schema, "schema", "", "where the job library's tables are (default: the library's own schema, else public)")
	cmd.Flags().BoolVar(&drop, "drop", false, "print what takes the trigger away again")
	return cmd
}

// bellPresets are the presets that there is a bell for, sorted.
func bellPresets() []string {
	var names []string
	for name, preset := range presets {
		if preset.Postgres != nil && preset.Postgres.Bell != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// bellPreset finds a preset that there is a bell for, or says why there is none.
func bellPreset(name string) (driver.Preset, error) {
	preset, known := presets[name]
	switch {
	case !known:
		return driver.Preset{}, fmt.Errorf("unknown preset %q; %s", name, meant(name, slices.Collect(maps.Keys(presets))))
	case name == presetSQL:
		return driver.Preset{}, fmt.Errorf("the preset %s reads tables that you know and leadsman does not: "+
			"announce their jobs by a trigger of yours with pg_notify, and name its channel under listen", presetSQL)
	case preset.Postgres == nil:
		return driver.Preset{}, fmt.Errorf("the preset %s does not read PostgreSQL, and so it needs no trigger", name)
	case preset.Postgres.Bell == nil:
		return driver.Preset{}, fmt.Errorf("the preset %s needs no trigger: a trigger of the library's own announces its jobs", name)
	}
	return preset, nil
}
