/** Invalid input on the command line ends with 1 or 2 and a message, with a running tree. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, fixture, LocalTree, until } from './local-tree.ts';

const space = 'space/center/retail';
const object = ['deployment/frontend', '-n', 'guestbook'];

describe.skipIf(withoutKubectl)(`the command line${withoutKubectl ? ` [not run: ${withoutKubectl}]` : ''}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const run = (...args: string[]) => banyan(...args, '--data', tree.data);
  const longName = 'guestbook-of-a-name-that-has-more-characters-than-the-value-of-a-label-may-have';

  beforeAll(async () => {
    await tree.up();
    const workload = readFileSync(fixture('docs/examples/guestbook.yaml'), 'utf8');
    const named = workload.replace(/(kind: EdgePlacement\nmetadata: \{ name: )guestbook/, `$1${longName}`);
    expect(tree.kubectl(space, ['apply', '-f', '-'], named).out).toContain(longName);
    tree.ok(space, 'wait', `epl/${longName}`, '--for=condition=Ready', '--timeout=60s');
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('explains why an object is on a cluster, even for a placement whose name is too long for a label', async () => {
    for (const at of ['eu:paris:rivoli', 'hq']) {
      await until(`the slice of ${at} is there`, () => {
        const { code, out } = run('why', ...object, '--at', at);
        return code === 0 && out.includes(`${longName}: matches the Location ${at.split(':').at(-1)}`);
      });
    }
    expect(run('why', ...object, '--at', 'eu:berlin:lab')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${longName}: matches none of its Locations`),
    });
  });

  it.each<[string[], number, RegExp]>([
    [
      ['why', ...object, '--at', 'eu:paris:rivol'],
      1,
      /there is no cluster "eu:paris:rivol": did you mean "eu:paris:rivoli"/,
    ],
    [['why', 'deployment/frontent', '-n', 'guestbook', '--at', 'hq'], 1, /did you mean "frontend"/],
    [['why', 'deployment/frontend', '--at', 'hq'], 1, /there is one in another namespace: -n guestbook/],
    [['why', 'gadget/x', '--at', 'hq'], 1, /has no resource "gadget"/],
    [['why', 'deployment', '--at', 'hq'], 2, /not of the form KIND\/NAME/],
    [['why', ...object, '--at', 'eu'], 2, /is no cluster but a relay/],
    [['status', 'epl/nope'], 1, /has no EdgePlacement "nope"/],
    [['plan'], 2, /name what to plan: a file with -f, or a cluster with --at/],
    [['plan', '--at', 'eu'], 2, /is no cluster but a relay/],
    [['history', 'epl/nope'], 1, /edgeplacements\.edge\.banyan\.io "nope" not found/],
    [['undo', 'epl/nope', '--to', '0'], 2, /--to: "0" is no number of a revision/],
    [['undo', `epl/${longName}`, '--to', '77'], 1, /has no revision 77: name one of 1/],
    [['status', 'deploy/x'], 2, /not of the form epl\/NAME/],
    [['status', 'epl/x', '--space', 'node/center'], 2, /no context of a space/],
    [['tree', 'eux'], 1, /there is no node "eux": did you mean "eu"/],
    [['tree', ''], 2, /"" is no path of a node/],
    [['ping', 'nope'], 1, /there is no child nope/],
    [['ping', 'eu', '--from', 'nope'], 1, /no context "node\/nope"/],
    [['ping', 'eu', '--bytes', 'many'], 2, /--bytes: "many"/],
    [['approve-deletions', 'nope'], 1, /there is no node "nope"/],
    [['approve-deletions', ''], 2, /"" is no path of a node/],
    [['ping', 'eu~1'], 2, /"eu~1" is one replica of eu/],
    [['join-token', 'eu'], 2, /the path "eu" is that of a relay/],
    [['enroll', 'eu:paris'], 2, /the path "eu:paris" is that of a relay/],
    [['join-token', 'eu:paris:rivoli'], 1, /is taken at node\/eu:paris/],
    [['join-token', 'eu:lisbon:shop'], 1, /the kubeconfig has no node\/eu:lisbon/],
    [['authority', 'drop', 'abc'], 2, /the center trusts no authority "abc"; it trusts [0-9a-f]{16}/],
    [['authority', 'add', '--pki', '/nowhere'], 1, /there is no \/nowhere\/ca\.crt: name the folder/],
    [['authority', 'use', '--pki', '/nowhere'], 2, /\/nowhere has no ca\.crt: name the folder/],
    [['nonsense'], 2, /unknown command 'nonsense'/],
  ])('%j ends with %d', (args, code, output) => {
    const ran = run(...args);
    expect(ran).toMatchObject({ code, out: expect.stringMatching(output) });
    expect(ran.out).not.toMatch(/^\s+at |node:internal/m);
  });

  it('asks the tree that --data names, whatever KUBECONFIG is set in the terminal', () => {
    process.env.KUBECONFIG = join(tree.data, 'kubeconfig');
    try {
      expect(banyan('tree').code).toBe(0);
      expect(banyan('tree', '--data', join(tree.data, 'none'))).toMatchObject({
        code: 1,
        out: expect.stringMatching(/no kubeconfig at .*none/),
      });
    } finally {
      delete process.env.KUBECONFIG;
    }
  });
});
