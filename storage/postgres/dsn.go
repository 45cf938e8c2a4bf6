package postgres

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leadsman/leadsman/storage/driver"
)

// encodeHint is the remedy for most URLs that do not parse.
const encodeHint = `in a URL, percent-encode special characters of the user and the password ` +
	`(@ as %40, / as %2F, # as %23, ? as %3F, % as %25, : as %3A), or use the keyword form: ` +
	`host=… user=… password='…', with \' and \\ inside the quotes`

// parse reads a URL or keyword string. Its errors say nothing of the text, because the place where a password
// ends is just what is unclear in a text that does not parse.
func parse(dsn string) (*pgx.ConnConfig, error) {
	if strings.TrimSpace(dsn) == "" {
		return nil, driver.Errorf(driver.Unavailable, "the database URL is empty")
	}
	bad := driver.Errorf(driver.Unavailable, "the database URL does not parse: %s", encodeHint)
	if isURL(dsn) {
		u, err := url.Parse(dsn)
		// A fragment, or an @ in the name of a parameter, is the rest of a password that was not encoded. What
		// stands before it would be taken for the host.
		if err != nil || u.Fragment != "" || strings.Contains(dsn, "#") || slices.ContainsFunc(keys(u.Query()), hasAt) {
			return nil, bad
		}
	}
	config, err := pgxpool.ParseConfig(dsn) // unlike pgx's own, it takes the pool_… parameters out
	if err != nil || slices.ContainsFunc(hosts(config.ConnConfig), hasAt) {
		return nil, bad
	}
	return config.ConnConfig, nil
}

func isURL(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

func hasAt(s string) bool { return strings.Contains(s, "@") }

func keys(v url.Values) []string {
	out := make([]string, 0, len(v))
	for k := range v {
		out = append(out, k)
	}
	return out
}

// Location says where a URL or keyword string leads, without credentials: "db:5432/app", with commas between
// several hosts. It is "" for a text that does not parse.
func Location(dsn string) string {
	config, err := parse(dsn)
	if err != nil {
		return ""
	}
	return location(config)
}

func location(config *pgx.ConnConfig) string {
	return strings.Join(hosts(config), ",") + "/" + config.Database
}

// hosts lists the servers, each once: pgx repeats a host to try it with and without TLS.
func hosts(config *pgx.ConnConfig) []string {
	list := []string{net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))}
	for _, f := range config.Fallbacks {
		if host := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return list
}

var (
	urlUserinfo = regexp.MustCompile(`^postgres(?:ql)?://(?:[^:@/]*):(.*)@`)
	secretParam = regexp.MustCompile(`(?i)[?&](?:password|sslpassword)=([^&#]*)`)
	secretWord  = regexp.MustCompile(`(?i)(?:^|\s)(?:password|sslpassword)\s*=\s*('(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)*)`)
)

// Secrets returns the strings that nothing shown to people may hold when dsn is in use: the whole text if it
// has a password, and the password as it is, as it was written and in its encoded forms; the longest first, so
// that replacing them in order leaves no rest. It does its best for a text that does not parse.
func Secrets(dsn string) []string {
	var found []string
	if config, err := parse(dsn); err == nil {
		found = append(found, config.Password)
	}
	patterns := []*regexp.Regexp{secretWord}
	if isURL(dsn) {
		patterns = []*regexp.Regexp{urlUserinfo, secretParam}
	}
	for _, p := range patterns {
		for _, m := range p.FindAllStringSubmatch(dsn, -1) {
			found = append(found, m[1], unquote(m[1]))
		}
	}
	var out []string
	for _, secret := range found {
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(strconv.Quote(secret), `"`)} {
			if form != "" && !slices.Contains(out, form) {
				out = append(out, form)
			}
		}
	}
	if len(out) > 0 {
		out = append(out, dsn)
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// unquote reads a value of the keyword form, or of a URL.
func unquote(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil && decoded != s {
		return decoded
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'")
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(s)
}
