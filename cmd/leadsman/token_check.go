package main

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
)

func newTokenCheckCommand() *cobra.Command {
	var (
		o      clientOptions
		sha256 string
	)
	cmd := &cobra.Command{
		Use:   "check [TOKEN|-]",
		Short: "Check a token: its form, its SHA-256, and whether a server accepts it",
		Long: `Check a token: its form, its SHA-256, and whether a server accepts it.

With - the token is read from standard input, and without an argument from LEADSMAN_TOKEN or --token-file, where other
users of the machine do not see it. The token itself is never printed. No server is asked unless --server names one.

The exit code is 1 when --sha256 is another token's, or when the server does not accept the token.`,
		Example: `  # Which entry of the configuration file is this token's?
  leadsman token check - < token.txt

  # Is it the one of this entry?
  leadsman token check - --sha256 5f3a… < token.txt

  # Does the server take it, and what for?
  kubectl get secret leadsman-token -o jsonpath='{.data.token}' | base64 -d | leadsman token check - --server 127.0.0.1:50051`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(os.Getenv); err != nil {
				return err
			}
			token, err := o.tokenOf(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			id, err := scaler.ParseToken(token)
			if err != nil {
				return fmt.Errorf("this is no token: %w", err)
			}
			digest := scaler.HashToken(token)
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "id:     %s\nsha256: %s\n", id, digest); err != nil {
				return err
			}
			if cmd.Flags().Changed("sha256") {
				if err := compareDigest(digest, sha256); err != nil {
					return err
				}
			}
			if !cmd.Flags().Changed("server") {
				return nil
			}
			o.token = Secret{value: token}
			return o.tryToken(cmd.Context(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&sha256, "sha256", "", "the SHA-256 that the token is to have, as the configuration file has it")
	o.forClients(cmd, cmd.Flags())
	return cmd
}

// tokenOf finds the token: the argument, standard input, or what the other commands present.
func (o *clientOptions) tokenOf(args []string, stdin io.Reader) (string, error) {
	switch {
	case len(args) == 1 && args[0] == "-":
		return firstLine(stdin)
	case len(args) == 1:
		return args[0], nil
	case o.token.IsZero():
		return "", errors.New("there is no token to check: give - for standard input, set " + envToken + ", or name a file by --token-file")
	}
	token, err := o.token.Get()
	return strings.TrimSpace(token), err
}

// firstLine reads a token as the server takes it, without white space around it.
func firstLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 2*scaler.MaxToken)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// compareDigest tells whether a token has the digest that somebody expects.
func compareDigest(digest, want string) error {
	var found faults
	if !checkSum("--sha256", strings.TrimSpace(want), &found) {
		return found.err()
	}
	if subtle.ConstantTimeCompare([]byte(digest), []byte(strings.ToLower(strings.TrimSpace(want)))) == 0 {
		return &failedError{errors.New("--sha256 is another token's")}
	}
	return nil
}

// tryToken presents the token to the server and tells what it is good for there.
func (o *clientOptions) tryToken(ctx context.Context, out io.Writer) error {
	c, err := o.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	scopes, err := c.scopes(ctx)
	if err != nil {
		return err
	}
	if open, err := o.isOpen(ctx); err != nil {
		return err
	} else if open {
		return &failedError{fmt.Errorf("%s asks nobody for a token, and takes any: it has neither tokens nor a client CA", o.server)}
	}
	_, err = fmt.Fprintf(out, "server: %s accepts it\nscopes: %s\n", o.server, strings.Join(scopes, ", "))
	return err
}

// scopes finds out what the caller may do, by calls that change nothing: that a request is malformed is for a server to
// say that would have taken a better one.
func (c *client) scopes(ctx context.Context) ([]string, error) {
	_, read := ask(ctx, c, pb.NewExternalScalerClient(c.conn).GetMetricSpec,
		&pb.ScaledObjectRef{ScalerMetadata: map[string]string{"queue": ""}})
	_, inspect := ask(ctx, c, c.inspector.ListSources, &leadsmanv1.ListSourcesRequest{})
	_, signal := ask(ctx, c, leadsmanv1.NewSignalsClient(c.conn).Signal, &leadsmanv1.SignalRequest{Source: "no source has this name"})
	var scopes []string
	for _, tried := range []struct {
		scope scaler.Scope
		err   error
	}{{scaler.ScopeRead, read}, {scaler.ScopeInspect, inspect}, {scaler.ScopeSignal, signal}} {
		switch codeOf(tried.err) {
		case codes.OK, codes.InvalidArgument:
			scopes = append(scopes, string(tried.scope))
		case codes.PermissionDenied: // of something else than the scope, such as a namespace: that comes later
			if !lacksScope(tried.err) {
				scopes = append(scopes, string(tried.scope))
			}
		case codes.Unimplemented: // by a server that is older
		default:
			return nil, tried.err
		}
	}
	return scopes, nil
}

// lacksScope tells whether a caller was known and has not the scope that a call takes.
func lacksScope(err error) bool {
	return codeOf(err) == codes.PermissionDenied && strings.Contains(err.Error(), "is not granted scope")
}

// isOpen tells whether the server takes whatever it is shown. It shows a token that nobody has.
func (o *clientOptions) isOpen(ctx context.Context) (bool, error) {
	token, _, err := scaler.MintToken("check")
	if err != nil {
		return false, err
	}
	stranger := *o
	stranger.token = Secret{value: token}
	c, err := stranger.dial()
	if err != nil {
		return false, err
	}
	defer c.Close()
	_, err = ask(ctx, c, c.inspector.ListSources, &leadsmanv1.ListSourcesRequest{})
	switch codeOf(err) {
	case codes.OK:
		return true, nil
	case codes.Unauthenticated:
		return false, nil
	default:
		return false, err
	}
}
