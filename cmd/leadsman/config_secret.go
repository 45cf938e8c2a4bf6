package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// A Secret is a string that must not be shown, or a file that holds one. Whatever prints or logs it gets
// "[redacted]". The zero Secret is empty.
type Secret struct {
	value string
	file  string
}

const (
	redacted  = "[redacted]"
	maxSecret = 64 << 10 // bytes of a file
)

// Get returns the secret. It reads the file each time, because secrets rotate, and drops the line end that editors
// and echo leave. The error names the file.
func (s Secret) Get() (string, error) {
	if s.file == "" {
		return s.value, nil
	}
	file, err := os.Open(s.file)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", err
	}
	value := strings.TrimRight(string(data), "\r\n")
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty", s.file)
	case len(data) > maxSecret:
		return "", fmt.Errorf("%s holds more than %d bytes", s.file, maxSecret)
	}
	return value, nil
}

// IsZero tells whether there is neither value nor file.
func (s Secret) IsZero() bool { return s == Secret{} }

// File returns the file's name; "" when the secret is in the configuration itself.
func (s Secret) File() string { return s.file }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// Format writes "[redacted]" for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns "[redacted]", in JSON and YAML too.
func (s Secret) MarshalText() ([]byte, error) { //nolint:unparam // encoding.TextMarshaler has it so
	return []byte(redacted), nil
}

// secretOf makes a Secret of the two keys that can hold it, value and file.
func secretOf(dir, value, file string) (Secret, error) {
	if value != "" && file != "" {
		return Secret{}, errors.New("both the value and a file are given; remove one")
	}
	return Secret{value: value, file: from(dir, file)}, nil
}
