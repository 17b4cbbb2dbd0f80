import { expect, it } from 'vitest';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';

const parsed = (host: string) =>
  parseTopology(`apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: { name: hosts }
spec:
  center: { listen: { host: "${host}" } }
`);

it.each(['127.0.0.1', '::1', 'fd00::1', 'localhost', 'Relay.example'])('a node may listen on %s', (host) => {
  const result = parsed(host);
  expect('topology' in result && planOf(result.topology)[0]?.listen?.host).toBe(host);
});

it.each(['[::1]', '127.0.0.1:8443', 'fe80::1%eth0', ''])(
  'a node cannot listen on "%s", and the message says what to write',
  (host) => {
    const result = parsed(host);
    expect('problems' in result && result.problems).toEqual([
      { field: 'spec.center.listen.host', line: 5, message: expect.stringMatching(/such as 127\.0\.0\.1 or ::1/) },
    ]);
  },
);
