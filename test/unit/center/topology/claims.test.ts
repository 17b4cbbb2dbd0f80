import { expect, it } from 'vitest';
import { claimsIn } from '../../../../center/topology/claims.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';

function topologyOf(spec: string) {
  const result = parseTopology(`apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec:\n${spec}`);
  if (!('topology' in result)) throw new Error(JSON.stringify(result.problems));
  return result.topology;
}

const tree = (more = '') =>
  topologyOf(`  relays:
    - {name: eu, labels: {region: eu}${more}}
    - {name: paris, parent: eu, labels: {zone: paris}}
    - {name: us, labels: {region: us}}
  clusters:
    - {name: till, parent: "eu:paris", labels: {env: prod}, properties: {carbon: "5"}}
    - {name: desk, parent: eu, labels: {env: test, site.banyan.io/own: x}}
    - {name: vault, parent: us, labels: {clearance: top, env: prod, site.banyan.io/room: y}, properties: {threat: low}}
`);

it('a relay may claim what the topology gives its subtree, with the values that are there', () => {
  expect(claimsIn(tree())('eu').given).toEqual({
    labels: { region: ['eu'], zone: ['paris'], env: ['prod', 'test'], 'site.banyan.io/own': ['x'] },
    properties: { carbon: ['*'] },
  });
  // Labels of relays above are inherited.
  expect(claimsIn(tree())('eu:paris').given.labels).toEqual({ region: ['eu'], zone: ['paris'], env: ['prod'] });
});

it('a relay without claims may claim everything else, except the keys that only other parts of the tree have', () => {
  expect(claimsIn(tree())('eu').claims).toEqual({
    labels: { '*': ['*'], clearance: [] },
    properties: { '*': ['*'], threat: [] },
  });
  expect(claimsIn(tree())('us').claims).toEqual({
    labels: { '*': ['*'], zone: [] },
    properties: { '*': ['*'], carbon: [] },
  });
});

it('a relay with claims may claim these, and nothing else', () => {
  expect(claimsIn(tree(', claims: {labels: {colour: [red, "*"]}}'))('eu').claims).toEqual({
    labels: { colour: ['red', '*'] },
    properties: {},
  });
});

it('claims with mistakes are refused, with the line and the remedy', () => {
  const problem = (claims: string, at = 'eu') => {
    const text = `apiVersion: banyan.io/v1alpha1\nkind: Topology\nmetadata: {name: t}\nspec:\n  relays:\n    - name: ${at}\n      ${claims}\n`;
    const result = parseTopology(text);
    return 'problems' in result ? result.problems.map(({ message, line }) => `${line} ${message}`).join('\n') : '';
  };
  expect(problem('claims: {labels: {tree.banyan.io/1: [us]}}')).toMatch(/7 .*leave the key out/);
  expect(problem('claims: {labels: {env: ["no!"]}}')).toMatch(/7 .*"no!".*write "\*" for any value/);
  expect(problem('claims: {lables: {}}')).toMatch(/labels/);
  expect(problem('quota: {entries: 0}')).not.toBe('');
});
