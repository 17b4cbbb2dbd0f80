/** `banyan up --detach`: the command itself reports the reason why the tree does not start, with the documented exit code, and changes nothing. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture } from './local-tree.ts';

const topology = (provider: string) => `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: detached}
spec:
  center: {}
  clusters: [{name: edge, provider: ${provider}}]
`;

describe('a tree in the background', () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-e2e-detached-'));
  const at = (name: string) => join(directory, name);
  const banyan = (...args: string[]) => {
    const done = spawnSync(process.execPath, [fixture('center/cli/banyan.ts'), ...args], { encoding: 'utf8' });
    return { code: done.status, output: done.stdout + done.stderr };
  };
  const up = (data: string, ...more: string[]) =>
    banyan('up', '--detach', '-f', at('tree.yaml'), '--data', at(data), ...more);

  beforeAll(() => {
    writeFileSync(at('tree.yaml'), topology('{embedded: {}}'));
    writeFileSync(at('nowhere.yaml'), topology('{kubeconfig: {path: nowhere}}'));
  });
  afterAll(() => {
    banyan('down', '--data', at('data'));
    rmSync(directory, { recursive: true, force: true });
  });

  it('is refused before it creates anything if the topology names a missing file', () => {
    const { code, output } = banyan('up', '--detach', '-f', at('nowhere.yaml'), '--data', at('none'));
    expect({ code, output }).toMatchObject({
      code: 2,
      output: expect.stringContaining('provider.kubeconfig.path: there is no file'),
    });
    expect(existsSync(at('none'))).toBe(false);
  });

  it('says what it waited for if it is not ready in time, and leaves nothing running', () => {
    expect(up('late', '--timeout', '0.001')).toMatchObject({
      code: 3,
      output: expect.stringContaining('not ready after'),
    });
    expect(banyan('down', '--data', at('late')).output).not.toMatch(/^ended/m);
  });

  it('stays unchanged, with its ready file, when somebody starts it again', () => {
    expect(up('data', '--ready-file', at('ready.json'))).toMatchObject({ code: 0 });
    const ready = readFileSync(at('ready.json'), 'utf8');
    const again = up('data', '--ready-file', at('ready.json'));
    expect(again).toMatchObject({ code: 2, output: expect.stringContaining('a tree runs here already') });
    expect(readFileSync(at('ready.json'), 'utf8')).toBe(ready);
  });
});
