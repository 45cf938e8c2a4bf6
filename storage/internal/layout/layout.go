// Package layout picks the query that fits the version of a job library's schema, for libraries whose tables differ
// by version (driver.SQL's Version and Layouts). The SQL engines share it: they ask the database for the version, and
// here is decided and worded what the answer means.
//
// A version that no layout holds is an error and never read with the nearest query: a column that changed its
// meaning would make wrong numbers in silence.
//
// The package does no I/O.
package layout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// Check says what is wrong with how sql states its query: alone, or by version; nil when nothing is.
func Check(sql driver.SQL) error {
	if sql.Activity != "" && (sql.Static || blank(sql.Query)) {
		return errors.New("the preset's Activity needs a Query with parameters beside it")
	}
	if sql.Version == "" && len(sql.Layouts) == 0 {
		if blank(sql.Query) {
			return errors.New("the preset's query is empty")
		}
		return nil
	}
	switch {
	case sql.Query != "":
		return errors.New("the preset has a query beside its layouts; state one or the other")
	case blank(sql.Version):
		return errors.New("the preset has layouts and no query for the version to choose by")
	case len(sql.Layouts) == 0:
		return errors.New("the preset asks for a version and has no layouts to choose from")
	}
	for i, l := range sql.Layouts {
		switch {
		case blank(l.Query):
			return fmt.Errorf("the preset's query for versions %d to %d is empty", l.From, l.To)
		case l.From > l.To:
			return fmt.Errorf("the preset's layout from %d to %d holds no version", l.From, l.To)
		case i > 0 && l.From <= sql.Layouts[i-1].To:
			return fmt.Errorf("the preset's layout from %d does not come after the one to %d", l.From, sql.Layouts[i-1].To)
		}
	}
	return nil
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// Queries lists the texts of a sql that [Check] accepts: its query, or that of each layout in order.
func Queries(sql driver.SQL) []string {
	if len(sql.Layouts) == 0 {
		return []string{sql.Query}
	}
	texts := make([]string, len(sql.Layouts))
	for i, l := range sql.Layouts {
		texts[i] = l.Query
	}
	return texts
}

// Choose returns the index of the layout for what the version's query found: the first column of each of its rows.
// The error is a *driver.Error: of Kind Schema when no layout fits or nothing was found.
func Choose(layouts []driver.Layout, found []any) (int, error) {
	switch {
	case len(found) == 0 || found[0] == nil:
		return 0, Absent(nil)
	case len(found) > 1:
		return 0, driver.Errorf(driver.Contract, "the preset's version query returned %d rows, want one", len(found))
	}
	version, ok := found[0].(int64)
	if !ok {
		return 0, driver.Errorf(driver.Contract, "the preset's version query returned %v, which is no integer", found[0])
	}
	i, ok := slices.BinarySearchFunc(layouts, version, func(l driver.Layout, v int64) int {
		if l.From <= v && v <= l.To {
			return 0
		}
		return cmp.Compare(l.From, v)
	})
	if !ok {
		return 0, unknown(layouts, version)
	}
	return i, nil
}

// Absent is the error of a database without the job library. cause is how it showed; nil when the version's query
// found no row.
func Absent(cause error) *driver.Error {
	how := "it holds no schema version"
	if cause != nil {
		how = cause.Error()
	}
	return &driver.Error{Kind: driver.Schema, Err: cause, Message: fmt.Sprintf(
		"the job library is not installed here (%s); run its migrations, or name the database and schema that hold its tables", how)}
}

func unknown(layouts []driver.Layout, version int64) *driver.Error {
	remedy := "update leadsman or the job library"
	switch {
	case version > layouts[len(layouts)-1].To:
		remedy = "update leadsman"
	case version < layouts[0].From:
		remedy = "update the job library and run its migrations"
	}
	return driver.Errorf(driver.Schema, "the job library's schema has version %d: known are %s; %s", version, known(layouts), remedy)
}

// known words the versions that layouts hold: "9–11, 14".
func known(layouts []driver.Layout) string {
	var spans []string
	for i := 0; i < len(layouts); {
		from, to := layouts[i].From, layouts[i].To
		for i++; i < len(layouts) && layouts[i].From == to+1; i++ {
			to = layouts[i].To
		}
		span := strconv.FormatInt(from, 10)
		if to > from {
			span += "–" + strconv.FormatInt(to, 10)
		}
		spans = append(spans, span)
	}
	return strings.Join(spans, ", ")
}
