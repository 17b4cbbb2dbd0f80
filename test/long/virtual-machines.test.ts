/** The page docs/operations/virtual-machines.md: its commands, in order, each on the host that its first line names. Each host is a network namespace. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, until } from '../e2e/local-tree.ts';
import { blocksOf } from '../e2e/page-blocks.ts';
import { Hosts, withoutHosts } from '../support/hosts.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const missing = withoutHosts ?? withoutKubectl;
const why = missing ? ` [not run: ${missing}]` : '';
const page = readFileSync(fixture('docs/operations/virtual-machines.md'), 'utf8');
const blocks = blocksOf(page, (line) => line).map(({ commands }) => {
  const [, host = ''] = /^# on (.+)$/m.exec(commands) ?? [];
  return { host, commands };
});
const addresses: Readonly<Record<string, string>> = {
  'center.example.com': 'fd00:213:9::1',
  'eu.example.com': 'fd00:213:9::2',
  'store-17': 'fd00:213:9::3',
  'your machine': 'fd00:213:9::4',
};
const short = (host: string) => host.split(/[. ]/)[0]!;

describe.skipIf(missing)(`a tree on machines without Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-machines-'));
  const hosts = new Hosts();
  /** Each host has its own folders for what is below /var/lib and /etc. Files that a person carries from host to host are in one folder. */
  const on = (host: string, commands: string) => {
    const own = commands
      .replaceAll('/var/lib/banyan', join(directory, short(host), 'banyan'))
      .replaceAll('/etc/systemd/system', join(directory, short(host)));
    const env = {
      ...process.env,
      PATH: [join(directory, 'bin'), process.env.PATH].join(delimiter),
      UNITS: join(directory, short(host)),
    };
    const [program, ...args] = [...hosts.at(short(host)), 'bash', '-e', '-o', 'pipefail'];
    const ran = spawnSync(program!, args, {
      input: own,
      encoding: 'utf8',
      cwd: join(directory, 'carried'),
      env,
      timeout: 120_000,
    });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };
  const kubectl = (...args: string[]) => on('your machine', `kubectl --kubeconfig admin.kubeconfig ${args.join(' ')}`);
  const script = (name: string, text: string) => {
    writeFileSync(join(directory, 'bin', name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(directory, 'bin', name), 0o755);
  };

  beforeAll(() => {
    for (const folder of ['bin', 'carried']) mkdirSync(join(directory, folder));
    symlinkSync(kubectlProgram, join(directory, 'bin/kubectl'));
    script('banyan', `exec ${process.execPath} ${fixture('center/cli/banyan.ts')} "$@"`);
    script('npm', 'shift 2\nexec "$@"');
    script('sudo', '[ "$1" = -u ] && shift 2\nexec "$@"');
    // Starts the program of a unit as systemd does: its words, its environment, and a log.
    script(
      'systemctl',
      `unit="$UNITS/\${!#}.service"
command=$(sed -n 's/^ExecStart=//p' "$unit")
mapfile -t variables < <(sed -n 's/^Environment=//p' "$unit")
nohup env "\${variables[@]}" $command > "$UNITS/log" 2>&1 < /dev/null &
echo $! >> "${directory}/pids"`,
    );
    const [, topology = ''] = /^```yaml\n(.*?)^```$/ms.exec(page) ?? [];
    writeFileSync(join(directory, 'carried/tree.yaml'), topology);
    hosts.network('wide');
    for (const [host, address] of Object.entries(addresses)) {
      mkdirSync(join(directory, short(host)));
      hosts.host(short(host));
      hosts.connect(short(host), 'wide', address);
      const named = Object.entries(addresses).filter(([name]) => name.endsWith('.example.com'));
      hosts.name(short(host), Object.fromEntries(named));
    }
  });
  afterAll(async () => {
    const pids = readFileSync(join(directory, 'pids'), 'utf8').trim().split('\n').map(Number);
    for (const pid of pids) process.kill(pid, 'SIGTERM');
    await until('the nodes have ended', () => pids.every((pid) => !isAlive(pid)));
    hosts[Symbol.dispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('names a host for each block', () => {
    expect(blocks.map(({ host }) => host).filter((host) => host !== 'every machine' && !(host in addresses))).toEqual(
      [],
    );
    expect(blocks.length).toBeGreaterThan(8);
  });

  it('has commands that work as they stand', async () => {
    for (const { host, commands } of blocks.filter(({ host }) => host !== 'every machine')) {
      if (commands.includes('get spaces'))
        await until('the center answers', () => kubectl('get', '--raw', '/readyz').code === 0);
      const { code, out } = on(host, commands);
      expect(code, `${host}: ${commands}${out}`).toBe(0);
    }
    const shown = kubectl('--context', 'space/center/retail', 'get', 'epl', 'shop', '-o', 'jsonpath={.status.display}');
    expect(shown.out).toBe('available 1/1');
  });

  it('answers under its address too, with a certificate that stock kubectl accepts', () => {
    const asked = kubectl(
      '--context',
      'node/center',
      '--server',
      'https://[fd00:213:9::1]:6443',
      'get',
      'nodes.mesh.banyan.io',
      'eu',
      '-o',
      'jsonpath={.status.session.state}',
    );
    expect(asked).toEqual({ code: 0, out: 'Connected' });
  });

  it('refuses a directory that is taken, and changes nothing', () => {
    const { code, out } = on('eu.example.com', 'banyan init relay --dir /var/lib/banyan --join eu.json --parent a:1');
    expect([code, out]).toEqual([
      2,
      expect.stringMatching(/--dir: .* is taken: it has .*; name a new or an empty directory/),
    ]);
  });

  it('ends with exit code 2 and the line for a mistake in the configuration', () => {
    const { code, out } = on(
      'eu.example.com',
      `sed 's/^labels:/labls:/' /var/lib/banyan/relay.yaml > wrong.yaml
${process.execPath} ${fixture('relay/main.ts')} --config wrong.yaml`,
    );
    expect([code, out]).toEqual([2, expect.stringMatching(/wrong\.yaml:\d+: labls: .*did you mean "labels"\?/)]);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
