// Checks what the service signs and proves with an implementation that has nothing to do with it: golang.org/x/mod/sumdb.
//
//	go run . vectors    prints vectors made by it, which are checked in as vectors.json
//	go run . check      checks the JSON on standard input; exits with 1 and the reason if anything is wrong with it
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type record struct {
	Index int64    `json:"index"`
	Text  string   `json:"text"`
	Proof []string `json:"proof"`
}

type claim struct {
	Key         string   `json:"key"`
	Checkpoint  string   `json:"checkpoint"`
	Records     []record `json:"records"`
	Earlier     string   `json:"earlier"`
	Consistency []string `json:"consistency"`
}

type vectors struct {
	Key         string              `json:"key"`
	Seed        string              `json:"seed"`
	Leaves      []string            `json:"leaves"`
	Hashes      []string            `json:"hashes"`
	Checkpoints []string            `json:"checkpoints"`
	Inclusion   map[string][]string `json:"inclusion"`
	Consistency map[string][]string `json:"consistency"`
}

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("vectors or check"))
	}
	switch os.Args[1] {
	case "vectors":
		fail(makeVectors())
	case "check":
		fail(check())
	default:
		fail(errors.New("vectors or check"))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check() error {
	var c claim
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return err
	}
	head, err := open(c.Checkpoint, c.Key)
	if err != nil {
		return err
	}
	for _, r := range c.Records {
		proof, err := hashes(r.Proof)
		if err != nil {
			return err
		}
		if err := tlog.CheckRecord(proof, head.N, head.Hash, r.Index, tlog.RecordHash([]byte(r.Text))); err != nil {
			return fmt.Errorf("record %d: %w", r.Index, err)
		}
	}
	if c.Earlier != "" {
		earlier, err := open(c.Earlier, c.Key)
		if err != nil {
			return err
		}
		proof, err := hashes(c.Consistency)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(proof, head.N, head.Hash, earlier.N, earlier.Hash); err != nil {
			return err
		}
	}
	fmt.Printf("checked: %d events of %d\n", len(c.Records), head.N)
	return nil
}

// Opens a checkpoint: a note signed with the key, about the log that the key is named after.
func open(signed, key string) (tree tlog.Tree, err error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return tree, err
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() || lines[3] != "" {
		return tree, errors.New("not a checkpoint of this log")
	}
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return tree, err
	}
	tree.Hash, err = tlog.ParseHash(lines[2])
	return tree, err
}

func hashes(texts []string) (proof []tlog.Hash, err error) {
	for _, text := range texts {
		hash, err := tlog.ParseHash(text)
		if err != nil {
			return nil, err
		}
		proof = append(proof, hash)
	}
	return proof, nil
}

func texts(proof []tlog.Hash) []string {
	written := []string{}
	for _, hash := range proof {
		written = append(written, hash.String())
	}
	return written
}

type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) (read []tlog.Hash, err error) {
	for _, index := range indexes {
		read = append(read, s[index])
	}
	return read, nil
}

// Trees of 1 to 17 leaves, which have every shape up to four levels, with every proof.
func makeVectors() error {
	const name, size = "venue-booking-service/vectors", 17
	seed := []byte("a seed for vectors, 32 bytes long")[:ed25519.SeedSize]
	private := ed25519.NewKeyFromSeed(seed)
	key, err := note.NewEd25519VerifierKey(name, private.Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	signer, err := note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%s+%s", name, strings.Split(key, "+")[1],
		base64.StdEncoding.EncodeToString(append([]byte{1}, seed...))))
	if err != nil {
		return err
	}
	v := vectors{
		Key: key, Seed: base64.RawURLEncoding.EncodeToString(seed),
		Inclusion: map[string][]string{}, Consistency: map[string][]string{},
	}
	var tree stored
	for n := int64(0); n < size; n++ {
		leaf := fmt.Sprintf(`{"leaf":%d,"name":"Zoë’s 東 😀"}`, n)
		v.Leaves = append(v.Leaves, leaf)
		v.Hashes = append(v.Hashes, tlog.RecordHash([]byte(leaf)).String())
		added, err := tlog.StoredHashes(n, []byte(leaf), tree)
		if err != nil {
			return err
		}
		tree = append(tree, added...)
		root, err := tlog.TreeHash(n+1, tree)
		if err != nil {
			return err
		}
		signed, err := note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", name, n+1, root)}, signer)
		if err != nil {
			return err
		}
		v.Checkpoints = append(v.Checkpoints, string(signed))
		for at := int64(0); at <= n; at++ {
			included, err := tlog.ProveRecord(n+1, at, tree)
			if err != nil {
				return err
			}
			v.Inclusion[fmt.Sprintf("%d of %d", at, n+1)] = texts(included)
			consistent, err := tlog.ProveTree(n+1, at+1, tree)
			if err != nil {
				return err
			}
			v.Consistency[fmt.Sprintf("%d to %d", at+1, n+1)] = texts(consistent)
		}
	}
	written, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		fmt.Println(string(written))
	}
	return err
}
