package redis

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/leadsman/leadsman/storage/driver"
)

var _ driver.Examiner = (*Engine)(nil)

// Examine implements driver.Examiner: what the servers say of themselves with INFO, which the preset's own commands do not
// include, and what reads so far have been refused.
func (e *Engine) Examine(ctx context.Context) ([]driver.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	s, err := e.session(ctx)
	if err != nil {
		return nil, err
	}
	x := &examination{session: s}
	if err := x.connection(e); err != nil {
		return nil, err
	}
	if err := x.servers(ctx); err != nil {
		if broken(err) {
			e.drop(s)
		}
		return nil, classify(ctx, err)
	}
	x.refusals()
	return x.findings, nil
}

// An examination is one run of Examine.
type examination struct {
	session  *session
	findings []driver.Finding
}

func (x *examination) add(check string, level driver.Level, found, remedy string) {
	x.findings = append(x.findings, driver.Finding{Check: check, Level: level, Found: found, Remedy: remedy})
}

// connection says as whom, and by which way, the server was found.
func (x *examination) connection(e *Engine) error {
	text, err := e.cfg.URL()
	if err != nil {
		return driver.Errorf(driver.Unavailable, "the URL cannot be had: %v", err)
	}
	t, err := parseURL(text)
	if err != nil {
		return driver.Errorf(driver.Unavailable, "%v", err)
	}
	switch {
	case t.password == "":
		x.add("credentials", driver.LevelOK, "the server asks for none", "")
	case t.username == "" || t.username == defaultUser:
		x.add("credentials", driver.LevelNote, "the server takes the password of the user default, who may do more than read",
			"make a user with the ACL line of the preset's README, and name it in the URL")
	default:
		x.add("credentials", driver.LevelOK, "the server lets the user "+t.username+" in", "")
	}
	if t.kind == sentinel {
		x.add("sentinel", driver.LevelOK, fmt.Sprintf("of %d sentinels, one named the master of %s", len(t.addresses), t.master), "")
	}
	return nil
}

// servers asks each server of the session.
func (x *examination) servers(ctx context.Context) error {
	if x.session.kind != cluster {
		return x.server(ctx, "", x.session.client)
	}
	nodes := x.session.client.Nodes()
	x.add("cluster", driver.LevelOK, fmt.Sprintf("%d nodes are known", len(nodes)), "")
	for _, address := range slices.Sorted(maps.Keys(nodes)) {
		if err := x.server(ctx, address+": ", nodes[address]); err != nil {
			return err
		}
	}
	return nil
}

// server asks one server of itself. prefix names it where there are several.
func (x *examination) server(ctx context.Context, prefix string, client rueidis.Client) error {
	reply := client.Do(ctx, client.B().Info().Build())
	if err := reply.Error(); err != nil {
		if !refusal(err) {
			return err
		}
		x.add("server", driver.LevelNote, prefix+"INFO is refused, so it is not seen whether the server evicts keys or is full",
			"as an administrator run: INFO memory")
		return nil
	}
	text, err := reply.ToString()
	if err != nil {
		return err
	}
	info := readInfo(text)
	x.identity(prefix, info)
	x.memory(prefix, info)
	return nil
}

// identity says what the server is, and whether the URL takes it for that.
func (x *examination) identity(prefix string, info map[string]string) {
	name := "Redis " + info["redis_version"]
	if version := info["valkey_version"]; version != "" {
		name = "Valkey " + version
	}
	switch {
	case info["cluster_enabled"] == "1" && x.session.kind != cluster:
		x.add("server", driver.LevelFail, prefix+name+" is a node of a cluster and holds a part of the keys only",
			"begin the URL with redis+cluster:")
	case info["role"] == "slave" && x.session.kind != cluster:
		x.add("server", driver.LevelNote, prefix+name+", a replica whose link to its master is "+info["master_link_status"]+
			": what is read may lag behind", "")
	default:
		x.add("server", driver.LevelOK, prefix+name+", a "+strings.Replace(info["role"], "slave", "replica", 1), "")
	}
}

// nearlyFull is the share of its memory from which a server is about to refuse writes or to evict.
const nearlyFull = 0.9

// memory says whether the server may drop the jobs.
func (x *examination) memory(prefix string, info map[string]string) {
	policy, known := info["maxmemory_policy"]
	most, err := strconv.ParseUint(info["maxmemory"], 10, 64)
	if !known || err != nil {
		return // it is too old to tell, or a proxy
	}
	used, err := strconv.ParseUint(info["used_memory"], 10, 64)
	switch {
	case policy != "noeviction" && most > 0:
		x.add("eviction", driver.LevelWarn, prefix+"maxmemory-policy is "+policy+": when memory is full, the server throws jobs away",
			"CONFIG SET maxmemory-policy noeviction, and the same in its configuration file")
	case policy != "noeviction":
		x.add("eviction", driver.LevelNote, prefix+"maxmemory-policy is "+policy+", which would throw jobs away if maxmemory were set",
			"CONFIG SET maxmemory-policy noeviction, and the same in its configuration file")
	default:
		x.add("eviction", driver.LevelOK, prefix+"maxmemory-policy is noeviction", "")
	}
	if err == nil && most > 0 && float64(used) >= nearlyFull*float64(most) {
		x.add("memory", driver.LevelWarn, fmt.Sprintf("%s%d%% of maxmemory are in use", prefix, 100*used/most),
			"raise maxmemory; a server that is full takes no jobs")
	}
}

// refusals says what reads so far had to do without.
func (x *examination) refusals() {
	for _, r := range x.session.refused.list() {
		x.add("permissions", driver.LevelWarn, r.command+" is refused, so "+r.missing,
			grantLine(x.session.user, r.command))
	}
}

// A refusedCommand is a command that the server refuses and reads can do without.
type refusedCommand struct{ command, missing string }

func (r *refusals) list() []refusedCommand {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]refusedCommand, 0, len(r.why))
	for _, command := range slices.Sorted(maps.Keys(r.why)) {
		out = append(out, refusedCommand{command, r.why[command]})
	}
	return out
}

// Users that an ACL line may be for.
const (
	defaultUser = "default" // who one is without a name
	unknownUser = "USER"    // to be filled in by who reads it
)

// grantLine is the line that lets a user run a command.
func grantLine(user, command string) string {
	return "as an administrator run: ACL SETUSER " + user + " " + aclRule(command)
}

// keyLine is the line that lets a user read a key.
func keyLine(user, key string) string {
	return "as an administrator run: ACL SETUSER " + user + " " + quote("%R~"+key) +
		", or with the pattern of the ACL line in the preset's README, which covers all of its keys"
}

// keyDenied says that a refusal is of the key, and not of the command.
func keyDenied(e *rueidis.RedisError) bool {
	text := e.Error()
	return strings.HasPrefix(text, "NOPERM") && strings.Contains(text, "access") && strings.Contains(text, "key")
}

// aclRule is what allows a command: +llen, +client|tracking.
func aclRule(command string) string {
	return "+" + strings.ReplaceAll(strings.ToLower(command), " ", "|")
}

// readInfo reads INFO's reply: lines of name:value.
func readInfo(text string) map[string]string {
	info := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// lacks finds in a refusal which command it is of: "NOPERM this user has no permissions to run the 'llen' command".
func lacks(text string) (command string, ok bool) {
	_, rest, found := strings.Cut(text, "permissions to run the '")
	command, _, closed := strings.Cut(rest, "'")
	return command, found && closed
}
