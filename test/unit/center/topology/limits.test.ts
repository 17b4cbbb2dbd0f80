import { describe, expect, it } from 'vitest';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';

const topology = (limits: string) => `
apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: { name: shop }
spec:
  relays:
    - { name: eu, limits: ${limits} }
  clusters:
    - { name: till, parent: eu, limits: { deletions: { entries: 5 } } }
    - { name: hq }
`;

describe('the limits of a topology', () => {
  it('apply to each node that sets some, with defaults for the others', () => {
    const parsed = parseTopology(topology('{ deletions: { fraction: 0.5 } }'));
    if (!('topology' in parsed)) throw new Error(JSON.stringify(parsed.problems));
    expect(Object.fromEntries(planOf(parsed.topology).map(({ path, limits }) => [path, limits?.deletions]))).toEqual({
      '': undefined,
      eu: { entries: 50, fraction: 0.5 },
      'eu:till': { entries: 5, fraction: 0.2 },
      hq: undefined,
    });
  });

  it.each([
    ['{ deletions: { fraction: 20 } }', 'spec.relays[0].limits.deletions.fraction'],
    ['{ deletions: { entries: -1 } }', 'spec.relays[0].limits.deletions.entries'],
    ['{ deletion: {} }', 'spec.relays[0].limits.deletion'],
  ])('%s are refused at their field', (limits, field) => {
    const parsed = parseTopology(topology(limits));
    expect('problems' in parsed && parsed.problems.map((problem) => [problem.field, problem.line])).toEqual([
      [field, 7],
    ]);
  });
});

describe('the lifetime of certificates for agents', () => {
  const issuer = (text: string) => topology('{}').replace('limits: {} }', `issuer: ${text} }`);

  it('is set for each relay', () => {
    const parsed = parseTopology(issuer('{ certificateSeconds: 86400 }'));
    if (!('topology' in parsed)) throw new Error(JSON.stringify(parsed.problems));
    expect(planOf(parsed.topology).map(({ path, issuer }) => [path, issuer?.certificateSeconds])).toEqual([
      ['', undefined],
      ['eu', 86_400],
      ['eu:till', undefined],
      ['hq', undefined],
    ]);
  });

  it('is refused at its field if it is too short', () => {
    const parsed = parseTopology(issuer('{ certificateSeconds: 59 }'));
    expect('problems' in parsed && parsed.problems.map(({ field }) => field)).toEqual([
      'spec.relays[0].issuer.certificateSeconds',
    ]);
  });
});
