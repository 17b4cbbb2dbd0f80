import { describe, expect, it } from 'vitest';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';

function topologyWith(link: string): string {
  return `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: links}
spec:
  clusters:
    - name: till
      link: ${link}
`;
}

function linkOf(link: string) {
  const parsed = parseTopology(topologyWith(link));
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return planOf(parsed.topology).find(({ path }) => path === 'till')?.link;
}

function problems(link: string): string {
  const parsed = parseTopology(topologyWith(link));
  return 'problems' in parsed ? JSON.stringify(parsed.problems) : 'none';
}

describe('the link of a node in a topology', () => {
  it('is auto and direct by default', () => {
    expect(linkOf('{}')).toEqual({ transport: 'auto', terminatedTls: false });
  });

  it.each([
    ['{transport: websocket}', { transport: 'websocket' }],
    ['{proxy: "http://proxy.example:3128"}', { proxy: 'http://proxy.example:3128' }],
    ['{proxy: none}', { proxy: 'none' }],
    [
      '{endpoint: "balancer.example:443", terminatedTls: true, ca: ca.crt}',
      { endpoint: 'balancer.example:443', ca: 'ca.crt' },
    ],
    ['{endpoint: "[fd00::1]:443"}', { endpoint: '[fd00::1]:443' }],
  ])('%s arrives at the node', (link, expected) => {
    expect(linkOf(link)).toMatchObject(expected);
  });

  it.each([
    ['{transport: pigeon}', 'websocket'],
    ['{proxy: "socks5://x:1"}', 'its scheme is socks5; http and https are supported'],
    ['{proxy: "http://u:sesame%@x"}', 'not percent-encoded'],
    ['{endpoint: balancer.example}', 'write host:port'],
    ['{endpoint: "fd00::1:443"}', 'write host:port'],
    ['{prox: none}', 'did you mean \\"proxy\\"?'],
  ])('%s is refused with its line, and without text that may be a password', (link, problem) => {
    expect(problems(link)).toContain(problem);
    expect(problems(link)).toContain('"line":7');
    expect(problems(link)).not.toContain('sesame');
  });
});
