package rediskeys

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

var types = []string{typeList, typeZset, typeSet, typeHash, typeStream}

// check refuses keys by which no queue, or each the same, would be read.
func check(o *driver.RedisOptions) error {
	if len(o.Keys) == 0 {
		return errors.New(`keys: is missing; list the keys of a queue, such as {key: "jobs:{queue}", type: list, state: ready}`)
	}
	starts := false
	for i, key := range o.Keys {
		if err := checkKey(key); err != nil {
			return fmt.Errorf("keys[%d].%w", i, err)
		}
		if slices.ContainsFunc(o.Keys[:i], func(k driver.RedisKey) bool { return k.Key == key.Key }) {
			return fmt.Errorf("keys[%d].key: %q is there twice; each element would count twice", i, key.Key)
		}
		starts = starts || key.State != stateRunning
	}
	if !starts {
		return errors.New("keys: none is ready or scheduled, so that nothing would ever start a worker")
	}
	return nil
}

// checkKey returns an error that begins with the field that is wrong.
func checkKey(key driver.RedisKey) error {
	switch {
	case !strings.Contains(key.Key, placeholder):
		return fmt.Errorf("key: %q lacks %s, which stands for the queue's name", key.Key, placeholder)
	case !slices.Contains(types, key.Type):
		return fmt.Errorf("type: %q is none of %s", key.Type, strings.Join(types, ", "))
	case !slices.Contains(states, key.State):
		return fmt.Errorf("state: %q is none of %s", key.State, strings.Join(states, ", "))
	}
	return checkUnit(key)
}

func checkUnit(key driver.RedisKey) error {
	_, ok := units[key.Unit]
	switch {
	case key.Unit == "" && key.Type == typeZset && key.State == stateScheduled:
		return errors.New("unit: is missing; say what the scores of the scheduled jobs are: s, ms, us or ns since 1970")
	case key.Unit == "":
	case key.Type != typeZset:
		return fmt.Errorf("unit: is of the scores of a zset, and this is a %s; remove it", key.Type)
	case !ok:
		return fmt.Errorf("unit: %q is none of s, ms, us, ns", key.Unit)
	}
	return nil
}
