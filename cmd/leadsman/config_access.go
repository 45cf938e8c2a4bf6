package main

import (
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leadsman/leadsman/scaler"
)

// resolve checks where gRPC is served, and that the TLS files can be used.
func (f fileGRPC) resolve(dir string, found *faults) GRPCConfig {
	c := GRPCConfig{Listen: f.Listen}
	if c.Listen == "" {
		c.Listen = defaultListen
	}
	checkListen("grpc.listen", c.Listen, defaultListen, found)
	c.TLS = f.TLS.resolve(dir, "grpc.tls", found)
	return c
}

// checkListen tells whether address can be listened on; example is one that could.
func checkListen(key, address, example string, found *faults) {
	if _, port, err := net.SplitHostPort(address); err != nil {
		found.addf(key, "%q is no address; write host:port, such as %s", address, example)
	} else if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		found.addf(key, "%q has no port within 0 and 65535", address)
	} else if n == 0 {
		found.warnf(key, "port 0 lets the system choose one")
	}
}

// resolve checks that the files of a server's TLS can be used; nil is plaintext.
func (f fileTLS) resolve(dir, key string, found *faults) *scaler.Files {
	switch {
	case f == (fileTLS{}):
		return nil
	case f.CertFile == "":
		found.addf(key+".certFile", "is missing; TLS needs certFile and keyFile")
		return nil
	case f.KeyFile == "":
		found.addf(key+".keyFile", "is missing; TLS needs certFile and keyFile")
		return nil
	}
	files := &scaler.Files{Cert: from(dir, f.CertFile), Key: from(dir, f.KeyFile), ClientCA: from(dir, f.ClientCAFile)}
	if _, err := scaler.NewTLS(*files, slog.New(slog.DiscardHandler)); err != nil {
		found.addf(key, "%s", strings.TrimPrefix(err.Error(), "tls: "))
	}
	return files
}

// guard refuses to serve everybody on a network by accident.
func (f *fileConfig) guard(c GRPCConfig, found *faults) {
	if loopback(c.Listen) {
		return
	}
	if f.open() {
		if !f.AllowInsecure {
			found.addf("grpc.listen", "%q can be reached from other machines, and there are neither tokens nor a client CA; "+
				"add tokens (leadsman token new), set grpc.tls.clientCAFile, listen on 127.0.0.1, or set allowInsecure: true", c.Listen)
		}
		return
	}
	if f.GRPC.TLS == (fileTLS{}) && !f.AllowInsecure {
		found.warnf("grpc.tls", "is not set: tokens travel in clear to %q", c.Listen)
	}
}

// clientCA tells whether certificates of clients are asked for. One that either listener has verified counts.
func (f *fileConfig) clientCA() bool {
	return f.GRPC.TLS.ClientCAFile != "" || f.HTTP.TLS.ClientCAFile != ""
}

// open tells whether there is no credential by which anybody could be told from anybody else.
func (f *fileConfig) open() bool { return len(f.Tokens) == 0 && !f.clientCA() }

// loopback tells whether only this machine can reach the address. One that cannot be parsed counts as such,
// because it has been reported already.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// resolveAccess checks tokens and clients.
func (f *fileConfig) resolveAccess(found *faults) scaler.Access {
	access := scaler.Access{ClientCA: f.clientCA()}
	if len(f.Clients) > 0 && !access.ClientCA {
		found.addf("clients", "have no effect without grpc.tls.clientCAFile, which says who signs their certificates")
	}
	sources := slices.Collect(maps.Keys(f.Sources))
	if len(sources) == 0 {
		sources = []string{defaultSource}
	}
	ids, sums, sans := unique{}, unique{}, unique{}
	for i, t := range f.Tokens {
		key := fmt.Sprintf("tokens[%d]", i)
		if !scaler.ValidID(t.ID) {
			found.addf(key+".id", "%q must be 1 to 32 lower-case letters, digits and dashes", t.ID)
		}
		ids.check(key+".id", t.ID, "is that of %s too; give each token its own, so that the log can tell them apart", found)
		if checkSum(key+".sha256", t.SHA256, found) {
			sums.check(key+".sha256", strings.ToLower(t.SHA256), "is that of %s too; remove one", found)
		}
		access.Tokens = append(access.Tokens, scaler.Token{Grant: t.grant(key, sources, found), SHA256: t.SHA256})
	}
	for i, c := range f.Clients {
		key := fmt.Sprintf("clients[%d]", i)
		if c.SAN == "" {
			found.addf(key+".san", "is missing; write a DNS name, URI, email or IP address of the client's certificate")
		}
		sans.check(key+".san", c.SAN, "is that of %s too; remove one", found)
		if c.ID == "" {
			c.ID = c.SAN
		}
		access.Clients = append(access.Clients, scaler.Client{Grant: c.grant(key, sources, found), SAN: c.SAN})
	}
	return access
}

// checkSum tells whether text can be a SHA-256. It may be a token, by mistake, and is not repeated.
func checkSum(key, text string, found *faults) bool {
	sum, err := hex.DecodeString(text)
	switch {
	case text == "":
		found.addf(key, "is missing; leadsman token new prints it")
	case strings.HasPrefix(text, "ldm_"):
		found.addf(key, "is a token; write its SHA-256 here, which leadsman token check prints, "+
			"and revoke the token if this file was shared")
	case err != nil || len(sum) != 32:
		found.addf(key, "must be 64 hexadecimal digits, the SHA-256 of the token, as leadsman token check prints it")
	default:
		return true
	}
	return false
}

// grant checks what a token or client is good for.
func (g fileGrant) grant(key string, sources []string, found *faults) scaler.Grant {
	out := scaler.Grant{ID: g.ID, Sources: g.Sources, Queues: g.Queues, Namespaces: g.Namespaces, Expires: g.Expires.Time}
	scopes := scopeNames()
	for _, scope := range g.Scopes {
		if !slices.Contains(scopes, scope) {
			found.addf(key+".scopes", "unknown scope %q; %s", scope, meant(scope, scopes))
		}
		out.Scopes = append(out.Scopes, scaler.Scope(scope))
	}
	for _, name := range g.Sources {
		if !slices.Contains(sources, name) {
			found.addf(key+".sources", "there is no source %q; %s", name, meant(name, sources))
		}
	}
	if slices.Contains(g.Queues, "") {
		found.addf(key+".queues", "holds an empty name; write names or globs such as mail-*")
	}
	if slices.Contains(g.Namespaces, "") {
		found.addf(key+".namespaces", "holds an empty name; write names of Kubernetes namespaces")
	}
	if !g.Expires.IsZero() && !time.Now().Before(g.Expires.Time) {
		found.warnf(key+".expires", "%s (%q) is over; the credential is refused", g.Expires.Format(time.RFC3339), g.ID)
	}
	return out
}

func scopeNames() []string {
	scopes := scaler.Scopes()
	out := make([]string, 0, len(scopes))
	for _, scope := range scopes {
		out = append(out, string(scope))
	}
	return out
}

// unique finds values that come twice, and remembers where they came first.
type unique map[string]string

// check complains by format, which gets the first key.
func (u unique) check(key, value, format string, found *faults) {
	if value == "" {
		return
	}
	if first, twice := u[value]; twice {
		found.addf(key, format, first)
		return
	}
	u[value] = key
}
