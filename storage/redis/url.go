package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// kind is how a server's addresses are found.
type kind string

const (
	standalone kind = "standalone"
	sentinel   kind = "sentinel"
	cluster    kind = "cluster"
)

const (
	defaultPort  = "6379"
	sentinelPort = "26379"
)

// Forms lists the URLs that are understood, for messages.
const Forms = "redis://host:6379/0, redis+sentinel://s1:26379,s2:26379/mymaster/0 or redis+cluster://n1:6379,n2:6379; rediss… for TLS"

// Schemes are those of the URLs that are understood.
func Schemes() []string {
	return []string{
		"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "valkey", "valkeys",
	}
}

// A target is where a server is and how it is spoken to.
type target struct {
	kind      kind
	addresses []string // host:port, at least one
	master    string   // of sentinel
	db        int

	username, password                 string
	sentinelUsername, sentinelPassword string

	tls   *tls.Config // nil for none
	resp2 bool        // say nothing that an old server or a proxy might not understand
}

// parseURL reads a URL. Its errors repeat nothing of it, because it may hold a password anywhere.
func parseURL(text string) (target, error) {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(text), "://")
	scheme = strings.ToLower(scheme)
	if !ok || !slices.Contains(Schemes(), scheme) {
		return target{}, fmt.Errorf("the URL is none of Redis; write %s", Forms)
	}
	hosts, tail := splitHosts(rest)
	first, _, _ := strings.Cut(hosts.list, ",")
	u, err := url.Parse("redis://" + hosts.userinfo + first + tail)
	if err != nil {
		return target{}, errors.New("the URL cannot be read; write " + Forms + ", and reserved characters of the password as %40 and so on")
	}
	t := target{kind: kindOf(scheme)}
	if t.addresses, err = addresses(hosts.list, t.kind); err != nil {
		return target{}, err
	}
	if len(t.addresses) > 1 && t.kind == standalone {
		return target{}, errors.New("the URL names several hosts; begin it with redis+sentinel: or redis+cluster:")
	}
	if password, _ := u.User.Password(); password != "" { // an empty one is none
		t.username, t.password = u.User.Username(), password
	}
	if err := t.path(strings.Trim(u.Path, "/")); err != nil {
		return target{}, err
	}
	return t, t.query(u.Query(), strings.HasPrefix(scheme, "rediss") || scheme == "valkeys")
}

func kindOf(scheme string) kind {
	_, suffix, _ := strings.Cut(scheme, "+")
	if suffix == "" {
		return standalone
	}
	return kind(suffix)
}

type hostList struct{ userinfo, list string }

// splitHosts takes the hosts out of a URL without its scheme: net/url reads one only.
func splitHosts(rest string) (hosts hostList, tail string) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	at := strings.LastIndexByte(authority, '@') + 1
	return hostList{authority[:at], authority[at:]}, rest[end:]
}

func addresses(list string, k kind) ([]string, error) {
	port := defaultPort
	if k == sentinel {
		port = sentinelPort
	}
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		u, err := url.Parse("redis://" + part)
		if err != nil {
			return nil, errors.New("a host of the URL cannot be read; write " + Forms + ", and IPv6 addresses in brackets")
		}
		host, p := u.Hostname(), u.Port()
		if host == "" {
			host = "localhost"
		}
		if p == "" {
			p = port
		}
		out = append(out, net.JoinHostPort(host, p))
	}
	return out, nil
}

// path reads the database's number, after the master's name where sentinels are asked.
func (t *target) path(path string) error {
	if t.kind == sentinel {
		t.master, path, _ = strings.Cut(path, "/")
		if t.master == "" {
			return errors.New("the URL does not name the master that the sentinels watch; write redis+sentinel://host:26379/mymaster/0")
		}
	}
	if path == "" {
		return nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return errors.New("the URL's path is no number of a database; write redis://host:6379/0")
	}
	if t.kind == cluster && db != 0 {
		return errors.New("a cluster has database 0 only; remove the number from the URL")
	}
	t.db = db
	return nil
}

// query reads what follows the question mark.
func (t *target) query(values url.Values, withTLS bool) error {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var certFile, keyFile string
	for key := range values {
		value := values.Get(key)
		var err error
		switch key {
		case "protocol":
			t.resp2 = value == "2"
			if value != "2" && value != "3" {
				err = errors.New("protocol is neither 2 nor 3")
			}
		case "sentinelUsername":
			t.sentinelUsername = value
		case "sentinelPassword":
			t.sentinelPassword = value
		case "caFile":
			config.RootCAs, err = readCAs(value)
		case "certFile":
			certFile = value
		case "keyFile":
			keyFile = value
		case "serverName":
			config.ServerName = value
		default:
			err = fmt.Errorf("%q is not known there", key)
		}
		if err != nil {
			return fmt.Errorf("the URL's query: %w; it takes protocol, sentinelUsername, sentinelPassword, caFile, certFile, keyFile, serverName", err)
		}
	}
	if !withTLS {
		if config.RootCAs != nil || certFile != "" || config.ServerName != "" {
			return errors.New("the URL's query is about TLS, and its scheme is not; begin it with rediss:")
		}
		return nil
	}
	if (certFile == "") != (keyFile == "") {
		return errors.New("the URL's query has one of certFile and keyFile; a client certificate takes both")
	}
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return fmt.Errorf("the client certificate of the URL's query: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	t.tls = config
	return nil
}

func readCAs(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file) //nolint:gosec // the operator's own configuration names it
	if err != nil {
		return nil, fmt.Errorf("caFile: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("caFile: %s holds no certificate in PEM form", file)
	}
	return pool, nil
}

// CheckURL tells what is wrong with a URL, repeating nothing of it.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

// Location says where a URL leads, without credentials: hosts, master and database. "" for what is no URL of Redis.
func Location(text string) string {
	t, err := parseURL(text)
	if err != nil {
		return ""
	}
	out := strings.Join(t.addresses, ",")
	if t.master != "" {
		out += "/" + t.master
	}
	if t.kind != cluster {
		out += "/" + strconv.Itoa(t.db)
	}
	return out
}

// Secrets returns what of a URL must not be shown.
func Secrets(text string) []string {
	t, err := parseURL(text)
	if err != nil {
		return []string{text}
	}
	out := []string{text}
	for _, secret := range []string{t.password, t.sentinelPassword} {
		if secret != "" {
			out = append(out, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	return out
}
