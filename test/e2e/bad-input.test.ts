import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { banyan } from './local-tree.ts';

const directory = mkdtempSync(join(tmpdir(), 'banyan-topology-'));
const head = 'apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec:\n';

function validate(spec: string) {
  const file = join(directory, 'tree.yaml');
  writeFileSync(file, head + spec);
  return banyan('topology', 'validate', '-f', file);
}

afterAll(() => rmSync(directory, { recursive: true }));

describe('banyan topology validate', () => {
  it('accepts a good file', () => {
    expect(validate('  relays: [{name: eu}]\n  clusters: [{name: a, parent: eu}]\n')).toMatchObject({ code: 0 });
  });

  it('names an unknown key with its line and the most similar key', () => {
    const { code, out } = validate('  relays:\n    - name: eu\n      labls: {}\n');
    expect(code).toBe(2);
    expect(out).toContain('tree.yaml:7: spec.relays[0].labls: unknown key "labls"; did you mean "labels"?');
  });

  it('names an unknown parent and the most similar parent', () => {
    const { code, out } = validate(
      '  relays: [{name: eu}, {name: paris, parent: eu}]\n  clusters:\n    - {name: a, parent: paris}\n',
    );
    expect(code).toBe(2);
    expect(out).toContain('"paris": there is no relay with this path; did you mean "eu:paris"?');
  });

  it('finds a relay that is its own ancestor', () => {
    const { code, out } = validate('  relays:\n    - {name: a, parent: b}\n    - {name: b, parent: a}\n');
    expect(code).toBe(2);
    expect(out).toContain('the relay would be above itself');
  });

  it('finds a name that is given twice', () => {
    const { code, out } = validate('  clusters: [{name: a}, {name: a}]\n');
    expect(code).toBe(2);
    expect(out).toContain('spec.clusters[1].name: "a" is named twice; the first is spec.clusters[0]');
  });

  it('finds a tree name that no certificate can hold', () => {
    const file = join(directory, 'named.yaml');
    writeFileSync(file, `${head.replace('name: t', 'name: "My Tree"')}  relays: []\n`);
    const { code, out } = banyan('topology', 'validate', '-f', file);
    expect(code).toBe(2);
    expect(out).toContain('metadata.name: "My Tree": ');
  });

  it('refuses three megabytes of brackets at once', () => {
    const file = join(directory, 'brackets.yaml');
    writeFileSync(file, '['.repeat(3_000_000));
    const { code, out } = banyan('topology', 'validate', '-f', file);
    expect(code).toBe(2);
    expect(out).toMatch(/brackets\.yaml:1: the file is nested more than 500 levels deep: make it flatter/);
  });

  it('finds a bad label', () => {
    const { code, out } = validate('  clusters: [{name: a, labels: {env: "not good"}}]\n');
    expect(code).toBe(2);
    expect(out).toContain('spec.clusters[0].labels.env: "not good": use letters, digits');
  });

  it('names the file that cannot be read', () => {
    const { code, out } = banyan('topology', 'validate', '-f', join(directory, 'missing.yaml'));
    expect(code).toBe(2);
    expect(out).toContain("missing.yaml: can't be read: ENOENT");
  });
});

describe('banyan up', () => {
  it('refuses a port that is in use before anything starts', async () => {
    const server = createServer();
    const port = await new Promise<number>((done) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        done(typeof address === 'object' && address ? address.port : 0);
      });
    });
    try {
      const file = join(directory, 'ports.yaml');
      writeFileSync(file, `${head}  center: {listen: {apiPort: ${port}}}\n`);
      const { code, out } = banyan('up', '-f', file, '--data', join(directory, 'data'));
      expect(code).toBe(2);
      expect(out).toContain(`port ${port} on 127.0.0.1 (listen.apiPort of the center) can't be used: EADDRINUSE`);
    } finally {
      server.close();
    }
  });

  it('refuses an unknown command line', () => {
    expect(banyan('up', '--fiel', 'x').code).toBe(2);
    expect(banyan('nonsense').code).toBe(2);
  });
});
