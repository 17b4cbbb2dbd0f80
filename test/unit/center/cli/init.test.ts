/** `banyan init`: what it writes is accepted by the programs, and what it refuses changes nothing. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { init } from '../../../../center/cli/init.ts';
import type { InitOptions } from '../../../../center/cli/init-options.ts';
import { UsageError } from '../../../../center/cli/usage-error.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { parseConfig } from '../../../../core/runtime/config-file.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { parseAgentConfig } from '../../../../edge-agent/config/config.ts';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';

const root = mkdtempSync(join(tmpdir(), 'banyan-init-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const token = `banyan-join-1.0123456789.${'s'.repeat(43)}.${'p'.repeat(43)}`;
const ports = {
  clock: new VirtualClock(Date.now()),
  random: new SeededRandom(1),
  anyAddress: '::',
  program: { node: '/opt/a b/node', program: '/opt/banyan/relay.js', user: 'banyan' },
} as const;
const dir = (name: string) => join(root, name);
const run = (options: Partial<InitOptions> & Pick<InitOptions, 'role' | 'dir'>) =>
  init({ names: [], spaces: [], ...options }, ports);
const text = (...parts: string[]) => readFileSync(join(root, ...parts), 'utf8');
const node = (...parts: string[]) => parseConfig(text(...parts), 'file', nodeConfigSchema, 'configuration');
const joining = { join: token, path: 'eu:paris', parent: '[fd00::1]:7443' };

describe('the files of a node', () => {
  it('are those of a center: names, keys, its authority, a kubeconfig', async () => {
    const lines = await run({
      role: 'center',
      dir: dir('center'),
      tree: 'retail',
      spaces: ['shop'],
      names: ['center.example.com', 'fd00::1'],
    });
    expect(node('center/center.yaml')).toMatchObject({
      path: '',
      spaces: [{ name: 'shop', type: 'Workload' }],
      data: dir('center/data'),
      pki: { tree: 'retail', names: ['center.example.com', 'fd00::1'] },
      api: { host: '::', port: 6443 },
      mesh: { host: '::', port: 7443 },
      advertise: { api: 'center.example.com:6443', mesh: 'center.example.com:7443' },
      encryption: { keyFile: dir('center/keys') },
    });
    expect(readdirSync(dir('center')).sort()).toEqual(['banyan-center.service', 'center.yaml', 'data', 'keys']);
    expect(existsSync(dir('center/data/pki/ca.key'))).toBe(true);
    for (const file of ['keys', 'data/kubeconfig']) expect(statSync(dir(`center/${file}`)).mode & 0o077).toBe(0);
    expect(lines.join('\n')).toMatch(/user add admin --group system:masters --data .* > admin\.kubeconfig/);
  });

  it('are those of a center without a name, which advertises no address', async () => {
    const lines = await run({ role: 'center', dir: dir('nameless') });
    expect(node('nameless/center.yaml').advertise).toEqual({});
    expect(lines.join('\n')).toMatch(/user add admin .*--server https:\/\/NAME:6443 --data .* > admin\.kubeconfig/);
  });

  it('are those of a relay, whose parent may have an IPv6 address', async () => {
    await run({ role: 'relay', dir: dir('relay'), ...joining, names: ['paris.example.com'] });
    expect(node('relay/relay.yaml')).toMatchObject({
      path: 'eu:paris',
      parent: { path: 'eu', address: '[fd00::1]:7443' },
      pki: { joinToken: dir('relay/join-token'), names: ['paris.example.com'] },
    });
    expect(text('relay/join-token')).toBe(`${token}\n`);
    // The parent has admitted this relay already, and refuses the command without --again.
    expect(text('relay/relay.yaml')).toContain('banyan join-token --relay eu:paris --again --host NAME');
  });

  it('are those of an agent, beside a real cluster or with a simulated one', async () => {
    writeFileSync(dir('cluster.kubeconfig'), '');
    await run({ role: 'agent', dir: dir('agent'), ...joining, cluster: dir('cluster.kubeconfig') });
    await run({ role: 'agent', dir: dir('trial'), ...joining });
    const configs = ['agent', 'trial'].map((name) => parseAgentConfig(text(name, 'agent.yaml'), 'file'));
    expect(configs.map(({ cluster }) => cluster)).toMatchObject([
      { kubernetes: { kubeconfig: dir('cluster.kubeconfig') } },
      { embedded: {} },
    ]);
  });

  it('have a unit that systemd reads: quoted words, and no restart after a mistake in the configuration', async () => {
    const lines = await run({ role: 'relay', dir: dir('100% ours'), ...joining });
    expect(lines.join('\n')).toContain(`sudo cp '${root}/100% ours/banyan-relay.service' /etc/`);
    const unit = text('100% ours', 'banyan-relay.service');
    const config = `${root}/100%% ours/relay.yaml`;
    expect(unit).toContain(`ExecStart="/opt/a b/node" /opt/banyan/relay.js --config "${config}"\n`);
    expect(unit).toMatch(/^User=banyan$[\s\S]*^RestartPreventExitStatus=2$/m);
    expect(unit).toContain(`Documentation=file://${root}/100%%25%%20ours\n`);
  });

  it('have a unit in which $ begins a variable only in the command', async () => {
    await run({ role: 'relay', dir: dir('5$'), ...joining });
    const unit = text('5$', 'banyan-relay.service');
    expect(unit).toContain(`--config ${root}/5$$/relay.yaml\n`);
    expect(unit).toContain(`Environment=NODE_COMPILE_CACHE=${root}/5$/data/compiled\n`);
    expect(unit).toContain(`ReadWritePaths=${root}/5$/data\n`);
  });

  it('take the addresses of the parent from the file, unless a person gives another one', async () => {
    const file = dir('kiosk.json');
    const parent = { address: '[fd00::2]:7443', replicas: ['eu-1.example.com:7443'] };
    writeFileSync(file, JSON.stringify({ token, path: 'eu:kiosk', role: 'Agent', parent }));
    await run({ role: 'agent', dir: dir('told'), join: file });
    await run({ role: 'agent', dir: dir('given'), join: file, parent: 'eu.example.com:443' });
    const parents = ['told', 'given'].map((name) => parseAgentConfig(text(name, 'agent.yaml'), 'file').parent);
    expect(parents).toEqual([
      { path: 'eu', ...parent },
      { path: 'eu', address: 'eu.example.com:443' },
    ]);
    writeFileSync(file, JSON.stringify({ token, path: 'eu:kiosk', parent: { address: 'https://eu.example.com' } }));
    await expect(run({ role: 'agent', dir: dir('wrong-parent'), join: file })).rejects.toThrow(
      /--join: parent in .*kiosk\.json: "https:\/\/eu\.example\.com": write host:port/,
    );
  });

  it('take path and role from the file that `join-token -o json` prints', async () => {
    const file = dir('paris.json');
    writeFileSync(file, JSON.stringify({ token, path: 'eu:paris', role: 'Relay' }));
    await run({ role: 'relay', dir: dir('from-file'), join: file, parent: 'eu.example.com:7443' });
    expect(node('from-file/relay.yaml').path).toBe('eu:paris');
    await expect(run({ role: 'agent', dir: dir('other-role'), join: file, parent: 'a:1' })).rejects.toThrow(
      /is a token for the relay "eu:paris", and not for the role agent/,
    );
    await expect(run({ role: 'relay', dir: dir('other-path'), join: file, parent: 'a:1', path: 'us' })).rejects.toThrow(
      /--path: "us": the token in .* is for "eu:paris"/,
    );
  });
});

describe('what is refused', () => {
  const refused: [string, Partial<InitOptions> & Pick<InitOptions, 'role'>, RegExp][] = [
    ['a relay without a token', { role: 'relay', path: 'eu' }, /--join is missing: .*join-token --relay eu/],
    [
      'half a token',
      { role: 'relay', ...joining, join: token.slice(0, -1) },
      /--join: a part of the join token is missing/,
    ],
    ['no path', { role: 'agent', ...joining, path: undefined }, /--path is missing.*such as eu:store-17/],
    ['a wrong path', { role: 'agent', ...joining, path: 'EU' }, /--path: "EU" is no path of a node/],
    ['no parent', { role: 'agent', ...joining, parent: undefined }, /--parent is missing.*center\.example\.com:7443/],
    [
      'an address without brackets',
      { role: 'agent', ...joining, parent: 'fd00::1:7443' },
      /--parent: "fd00::1:7443": write host:port/,
    ],
    [
      'no such kubeconfig',
      { role: 'agent', ...joining, cluster: '/no/file' },
      /--cluster: there is no file \/no\/file/,
    ],
    ['a parent of a center', { role: 'center', parent: 'a:1' }, /init center: --parent: a center has no parent/],
    ['a tree of a relay', { role: 'relay', ...joining, tree: 'x' }, /init relay: --tree: only a center makes a tree/],
    ['a name of an agent', { role: 'agent', ...joining, names: ['a'] }, /init agent: --name: an agent serves no API/],
    ['a wrong name of a space', { role: 'center', spaces: ['a.b'] }, /--space: "a\.b": use a-z/],
    ['a wrong name of a tree', { role: 'center', tree: 'My Tree' }, /--tree: "My Tree": use a-z/],
  ];
  it.each(refused)('%s', async (_what, options, message) => {
    const asked = run({ dir: dir('refused'), ...options });
    await expect(asked).rejects.toThrow(UsageError);
    await expect(asked).rejects.toThrow(message);
    expect(existsSync(dir('refused'))).toBe(false);
  });

  it('a directory that is taken', async () => {
    mkdirSync(dir('taken'));
    writeFileSync(dir('taken/a-file'), 'kept');
    await expect(run({ role: 'center', dir: dir('taken') })).rejects.toThrow(
      /taken is taken: it has a-file; name a new/,
    );
    expect(readdirSync(dir('taken'))).toEqual(['a-file']);
  });
});
