package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
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
		return target{}, errors.New("the URL names several hosts: begin it with redis+sentinel or redis+cluster")
	}
	if password, _ := u.User.Password(); password != "" { // an empty one is none
		t.username, t.password = u.User.Username(), password
	}
	if err := t.path(strings.Trim(u.Path, "/")); err != nil {
		return target{}, err
	}
	err = t.query(u.Query(), strings.HasPrefix(scheme, "rediss") || scheme == "valkeys")
	return t, err
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
		if err != nil || strings.Count(part, ":") > 1 && !strings.HasPrefix(part, "[") {
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
	var secure tlsFiles
	texts := map[string]*string{
		"sentinelUsername": &t.sentinelUsername, "sentinelPassword": &t.sentinelPassword, "caFile": &secure.ca,
		"certFile": &secure.cert, "keyFile": &secure.key, "serverName": &secure.serverName,
	}
	for key := range values {
		value := values.Get(key)
		switch text := texts[key]; {
		case text != nil:
			*text = value
		case key != "protocol":
			return fmt.Errorf("the URL's query: %q is not known there; it takes protocol, %s",
				key, strings.Join(slices.Sorted(maps.Keys(texts)), ", "))
		case value != "2" && value != "3":
			return errors.New("the URL's query: protocol is neither 2 nor 3")
		default:
			t.resp2 = value == "2"
		}
	}
	if !withTLS {
		if secure != (tlsFiles{}) {
			return errors.New("the URL's query is about TLS, and its scheme is not: begin it with rediss")
		}
		return nil
	}
	config, err := secure.config()
	t.tls = config
	return err
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
