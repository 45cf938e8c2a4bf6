// Package sql is the preset for job tables of your own, and for libraries that have none here yet: you bring the
// query. README.md states what it has to return.
package sql

import (
	"errors"
	"fmt"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// Name is the preset's name.
const Name = "sql"

// New makes a preset of a query that takes no parameters and returns one row per queue, on either engine.
// listen says how jobs are announced on PostgreSQL; nil when they are not. A fault of the arguments is an error
// that names it; whether the query fits the database shows at the first read.
func New(query string, listen *driver.Listen) (driver.Preset, error) {
	if strings.TrimSpace(query) == "" {
		return driver.Preset{}, errors.New("query is empty; write a SELECT that returns one row per queue with the columns queue and ready")
	}
	if strings.ContainsRune(query, 0) {
		return driver.Preset{}, errors.New("query holds a zero byte")
	}
	own, err := checkListen(listen)
	if err != nil {
		return driver.Preset{}, err
	}
	base := driver.SQL{Query: query, Static: true}
	postgres, sqlite := base, base
	postgres.Listen = own
	return driver.Preset{Name: Name, Postgres: &postgres, SQLite: &sqlite}, nil
}

// checkListen returns a copy of listen, or what is wrong with it.
func checkListen(listen *driver.Listen) (*driver.Listen, error) {
	if listen == nil {
		return nil, nil //nolint:nilnil // no listen block is right too
	}
	if len(listen.Channels) == 0 {
		return nil, errors.New("listen names no channel; leave it out where jobs are not announced")
	}
	own := *listen
	own.Channels = append([]string(nil), listen.Channels...)
	for _, channel := range own.Channels {
		switch {
		case channel == "":
			return nil, errors.New("listen has an empty channel name")
		case strings.ContainsRune(channel, 0):
			return nil, fmt.Errorf("listen: channel %q holds a zero byte", channel)
		case len(channel) > 63:
			return nil, fmt.Errorf("listen: channel %q has %d bytes; PostgreSQL allows 63", channel, len(channel))
		}
	}
	if own.Payload == "" {
		own.Payload = driver.PayloadNone
	}
	for _, delay := range own.Echo {
		if delay <= 0 {
			return nil, fmt.Errorf("listen: echo %s must be positive", delay)
		}
	}
	return &own, nil
}
