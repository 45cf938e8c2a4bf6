package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

// clientOptions say which server a command looks into, and how it gets in. What is secret has no flag: every user of
// a machine can read a process's arguments.
type clientOptions struct {
	server     string
	tokenFile  string
	tls        bool
	caFile     string
	certFile   string
	keyFile    string
	serverName string
	timeout    time.Duration
	token      Secret // of tokenFile, or of LEADSMAN_TOKEN; filled in by complete
}

const (
	defaultPort    = "50051"
	defaultTimeout = 10 * time.Second
	envToken       = "LEADSMAN_TOKEN"
)

// texts are the options that a variable can set too.
func (o *clientOptions) texts() []struct {
	flag, env, usage string
	to               *string
} {
	return []struct {
		flag, env, usage string
		to               *string
	}{
		{"server", "LEADSMAN_SERVER", "the server's gRPC address, host:port (LEADSMAN_SERVER; default " + defaultListen + ")", &o.server},
		{"token-file", "", "file with the access token; otherwise it is taken from LEADSMAN_TOKEN", &o.tokenFile},
		{"ca-file", "LEADSMAN_CA_FILE", "PEM file with the CA of the server's certificate; implies --tls (LEADSMAN_CA_FILE)", &o.caFile},
		{"cert-file", "LEADSMAN_CERT_FILE", "PEM file with a client certificate; implies --tls (LEADSMAN_CERT_FILE)", &o.certFile},
		{"key-file", "LEADSMAN_KEY_FILE", "PEM file with its key (LEADSMAN_KEY_FILE)", &o.keyFile},
		{
			"server-name", "LEADSMAN_SERVER_NAME",
			"name to expect in the server's certificate, when it is not the address's; implies --tls (LEADSMAN_SERVER_NAME)", &o.serverName,
		},
	}
}

func (o *clientOptions) addFlags(flags *pflag.FlagSet) {
	for _, text := range o.texts() {
		flags.StringVar(text.to, text.flag, "", text.usage)
	}
	flags.BoolVar(&o.tls, "tls", false, "speak TLS, and trust the system's CAs unless --ca-file is given")
	flags.DurationVar(&o.timeout, "timeout", defaultTimeout, "how long one answer may take")
}

// forClients sets a command up that has the flags of clientOptions.
func (o *clientOptions) forClients(cmd *cobra.Command, flags *pflag.FlagSet) {
	o.addFlags(flags)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if strings.HasPrefix(err.Error(), "unknown flag: --token") {
			return errors.New("there is no --token, because every user of this machine can read a process's arguments; " +
				"set " + envToken + ", or name a file by --token-file")
		}
		return err
	})
	for _, text := range o.texts() {
		if strings.HasSuffix(text.flag, "-file") {
			continue // files are what shells complete anyway
		}
		_ = cmd.RegisterFlagCompletionFunc(text.flag, cobra.NoFileCompletions) // fails for an unknown flag only
	}
}

// complete fills in the environment and the default, and checks what can be checked without the server.
func (o *clientOptions) complete(getenv func(string) string) error {
	for _, text := range o.texts() {
		if *text.to == "" && text.env != "" {
			*text.to = getenv(text.env)
		}
	}
	if o.server == "" {
		o.server = defaultListen
	}
	var err error
	if o.server, err = serverAddress(o.server); err != nil {
		return fmt.Errorf("--server: %w", err)
	}
	if o.timeout <= 0 {
		return fmt.Errorf("--timeout: %v is no time to answer in; give one such as 10s", o.timeout)
	}
	o.token = Secret{value: strings.TrimSpace(getenv(envToken))}
	if o.tokenFile != "" {
		o.token = Secret{file: o.tokenFile}
	}
	if _, err := o.token.Get(); err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	return nil
}

// serverAddress checks an address, and adds the port when there is none.
func serverAddress(text string) (string, error) {
	if strings.Contains(text, "/") {
		return "", fmt.Errorf("%q is no address; write host:port, such as %s, without a scheme", text, defaultListen)
	}
	if host, _, err := net.SplitHostPort(text); err == nil {
		if host == "" {
			return "localhost" + text, nil
		}
		return text, nil
	}
	host := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if _, err := netip.ParseAddr(host); err != nil && strings.ContainsAny(text, ":[]") {
		return "", fmt.Errorf("%q is no address; write host:port, such as %s", text, defaultListen)
	}
	return net.JoinHostPort(host, defaultPort), nil
}

// A client is a connection to a server, which is made at the first call.
type client struct {
	clientOptions

	conn      *grpc.ClientConn
	inspector leadsmanv1.InspectorClient
	bearer    *bearer // nil without a token
}

// dial makes a client. It does no I/O but reading files.
func (o *clientOptions) dial() (*client, error) {
	transport, err := o.transport()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// Somebody is waiting: a server that comes back is found within two seconds.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDisableServiceConfig(), // it would take a look into DNS that nobody answers
		grpc.WithUserAgent("leadsman/" + versionName()),
	}
	var token *bearer
	if !o.token.IsZero() {
		token = &bearer{token: o.token}
		options = append(options, grpc.WithPerRPCCredentials(token))
	}
	conn, err := grpc.NewClient("dns:///"+o.server, options...)
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	return &client{clientOptions: *o, conn: conn, inspector: leadsmanv1.NewInspectorClient(conn), bearer: token}, nil
}

// Close ends the connection.
func (c *client) Close() { _ = c.conn.Close() } // fails when it is closed already only

// ask makes one call, within the timeout. Its error says what to do.
func ask[Request, Response any](
	ctx context.Context, c *client, call func(context.Context, Request, ...grpc.CallOption) (Response, error), req Request,
) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := call(ctx, req)
	if err != nil {
		return response, c.advise(err)
	}
	return response, nil
}
