import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTopology } from '../../../../center/cli/up.ts';

const directory = mkdtempSync(join(tmpdir(), 'banyan-files-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const write = (name: string, text: string) => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};
const topology = (member: string, value: object) => {
  const nodes = {
    center: `center: ${JSON.stringify(value)}`,
    relay: `relays: [${JSON.stringify({ name: 'eu', ...value })}]`,
    cluster: `clusters: [${JSON.stringify({ name: 'hq', ...value })}]`,
  };
  const spec = nodes[member as keyof typeof nodes];
  return write('t.yaml', `apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: { name: t }\nspec:\n  ${spec}\n`);
};
const policy = { audit: { policyFile: 'policy.yaml' } };
const issuers = { authentication: { file: 'issuers.yaml' } };
const issuer =
  '{ issuer: { url: "https://login.example.com", audiences: [a] }, claimMappings: { username: { claim: sub, prefix: "" } } }';
const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n';

describe('a topology', () => {
  it.each(['center', 'relay', 'cluster'])(
    'with a wrong audit policy at a %s is refused before a node starts',
    (member) => {
      write('policy.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n  - level: Everything\n');
      expect(() => readTopology(topology(member, policy))).toThrow(
        /t\.yaml:5: spec\.\S+audit\.policyFile: \S+policy\.yaml:4: rules\[0\]\.level: "Everything" is no level/,
      );
    },
  );

  it.each(['center', 'relay'])('with wrong issuers at a %s is refused before a node starts', (member) => {
    write('issuers.yaml', `${head}jwt:\n  - ${issuer.replace('claim:', 'clam:')}\n`);
    expect(() => readTopology(topology(member, issuers))).toThrow(
      /t\.yaml:5: spec\.\S+authentication\.file: \S+issuers\.yaml:4: jwt\[0\]\.claimMappings\.username/,
    );
    rmSync(join(directory, 'issuers.yaml'));
    expect(() => readTopology(topology(member, issuers))).toThrow(/authentication\.file: there is no file \S+issuers/);
  });

  it('with a good policy and good issuers is taken', () => {
    write('policy.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n  - level: Metadata\n');
    write('issuers.yaml', `${head}jwt:\n  - ${issuer}\n`);
    expect(readTopology(topology('center', { ...policy, ...issuers })).name).toBe('t');
  });
});
