package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/scaler"
)

// newTokenCommand makes "leadsman token": new and check.
func newTokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make and check access tokens",
		Long: `Make and check access tokens.

A token reads ldm_<id>_<secret>. The server's configuration holds its SHA-256 only; whoever calls the server holds
the token, in a trigger's metadata (token, tokenFromEnv) or as the header "authorization: Bearer …".`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newTokenNewCommand(), newTokenCheckCommand())
	return cmd
}

// stanza is an entry under "tokens" of the configuration file.
type stanza struct {
	ID         string   `json:"id"`
	SHA256     string   `json:"sha256"`
	Scopes     []string `json:"scopes"`
	Sources    []string `json:"sources,omitempty"`
	Queues     []string `json:"queues,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Expires    string   `json:"expires,omitempty"`
}

func newTokenNewCommand() *cobra.Command {
	var entry stanza
	var output string
	cmd := &cobra.Command{
		Use:   "new --id ID",
		Short: "Make a token and the stanza for the configuration file",
		Long: `Make a token and the stanza for the configuration file.

The token is printed once and kept nowhere. Without --source, --queue or --namespace the token is good for all of
them. To rotate, add a token with another id, hand it out, and remove the old one when nobody uses it any more.`,
		Example: `  # For KEDA: read the mail queues of one source, for one team
  leadsman token new --id keda-mail --source mail --queue 'mail-*' --namespace team-mail

  # For people with grpcurl, until spring
  leadsman token new --id ops --scope inspect --expires 2027-03-01

  # For scripts
  leadsman token new --id keda -o json | jq -r .token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := entry.check(); err != nil {
				return err
			}
			token, sum, err := scaler.MintToken(entry.ID)
			if err != nil {
				return fmt.Errorf("--id: %w", err)
			}
			entry.SHA256 = sum
			return entry.print(cmd.OutOrStdout(), output, token)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&entry.ID, "id", "", "name of the token in configuration and logs: lower-case letters, digits, dashes")
	flags.StringSliceVar(&entry.Scopes, "scope", []string{string(scaler.ScopeRead)},
		"what it is good for: read (KEDA), inspect (people), signal (producers)")
	flags.StringArrayVar(&entry.Sources, "source", nil, "source that it is good for; repeat for more")
	flags.StringArrayVar(&entry.Queues, "queue", nil, "queue that it is good for, a name or glob; repeat for more")
	flags.StringArrayVar(&entry.Namespaces, "namespace", nil, "Kubernetes namespace that it is good for; repeat for more")
	flags.StringVar(&entry.Expires, "expires", "", "when it ends: 2027-03-01 or 2027-03-01T12:00:00Z")
	flags.StringVarP(&output, "output", "o", formatText, "text or json")
	_ = cmd.MarkFlagRequired("id") // fails for an unknown flag only
	return cmd
}

// check looks at what the configuration file would refuse.
func (s *stanza) check() error {
	scopes := scopeNames()
	for _, scope := range s.Scopes {
		if !slices.Contains(scopes, scope) {
			return fmt.Errorf("--scope: unknown scope %q; %s", scope, meant(scope, scopes))
		}
	}
	if len(s.Scopes) == 0 {
		return errors.New("--scope: is empty; an empty list would grant everything")
	}
	for flag, list := range map[string][]string{"--source": s.Sources, "--queue": s.Queues, "--namespace": s.Namespaces} {
		if slices.Contains(list, "") {
			return fmt.Errorf("%s: is empty; leave it out for no limit", flag)
		}
	}
	if s.Expires != "" {
		if err := new(date).parse(s.Expires); err != nil {
			return fmt.Errorf("--expires: %w", err)
		}
	}
	return nil
}

func (s *stanza) print(out io.Writer, format, token string) error {
	switch format {
	case formatJSON:
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(struct {
			Token  string  `json:"token"`
			Config *stanza `json:"config"`
		}{token, s})
	case formatText:
		_, err := fmt.Fprintf(out, "# The token. It is shown this once and kept nowhere: put it into a Secret now.\n%s\n\n"+
			"# For the configuration file of the server:\ntokens:\n%s", token, s.yaml())
		return err
	default:
		return fmt.Errorf("--output: %q is neither text nor json", format)
	}
}

// yaml writes the entry as people write it.
func (s *stanza) yaml() string {
	var b strings.Builder
	line := func(key, value string) {
		fmt.Fprintf(&b, "    %s: %s\n", key, value)
	}
	line("id", strconv.Quote(s.ID))
	line("sha256", strconv.Quote(s.SHA256))
	line("scopes", flow(s.Scopes))
	for _, field := range []struct {
		key  string
		list []string
	}{{"sources", s.Sources}, {"queues", s.Queues}, {"namespaces", s.Namespaces}} {
		if len(field.list) > 0 {
			line(field.key, flow(field.list))
		}
	}
	if s.Expires != "" {
		line("expires", strconv.Quote(s.Expires))
	}
	return "  - " + strings.TrimPrefix(b.String(), "    ")
}

// flow writes a list as JSON, which YAML takes as it is.
func flow(list []string) string {
	quoted := make([]string, len(list))
	for i, item := range list {
		text, _ := json.Marshal(item) //nolint:errchkjson // a string always can be
		quoted[i] = string(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
