/** The page docs/operations/virtual-machines.md: its commands, in order, each on the host that its first line names. Each host is a network namespace. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../core/runtime/clock.ts';
import { isAlive } from '../../core/runtime/process-alive.ts';
import { fixture, until } from '../e2e/local-tree.ts';
import { blocksOf } from '../e2e/page-blocks.ts';
import { Hosts, withoutHosts } from '../support/hosts.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';
import { withoutProxies } from '../support/real-proxies.ts';
import { TestTree } from '../support/test-tree.ts';

const missing = withoutHosts ?? withoutKubectl ?? withoutProxies;
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
  'lb.example.com': 'fd00:213:9::5',
};
const withoutAnalyze =
  spawnSync('systemd-analyze', ['--version']).status === 0
    ? undefined
    : ' [not run: there is no systemd-analyze on this machine: .ci/run installs it]';
const asksCenter = 'kubectl --kubeconfig /var/lib/banyan/data/kubeconfig --context node/center get --raw /readyz';
const short = (host: string) => host.split(/[. ]/)[0]!;

describe.skipIf(missing)(`a tree on machines without Kubernetes${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-machines-'));
  const hosts = new Hosts();
  /** Each host has its own folders for what is below /var/lib and /etc. Files that a person carries from host to host are in one folder. */
  const on = (host: string, commands: string) => {
    const own = commands
      .replaceAll('/var/lib/banyan', join(directory, short(host), 'banyan'))
      .replaceAll('/etc/haproxy', join(directory, short(host)))
      .replaceAll('/etc/systemd/system', join(directory, short(host)));
    const env = {
      ...process.env,
      PATH: [join(directory, 'bin'), process.env.PATH, '/usr/sbin'].join(delimiter),
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
  /** In the copies of all clusters. */
  const breadOfCopies = () => {
    const fleet = ['--server', 'https://center.example.com:6443/fleet/retail'];
    const asked = ['get', 'cm', '-n', 'shop', '-o', "'jsonpath={.items[*].data.bread}'"];
    return kubectl('--context', 'node/center', ...fleet, ...asked).out;
  };
  const script = (name: string, text: string) => {
    writeFileSync(join(directory, 'bin', name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(directory, 'bin', name), 0o755);
  };

  beforeAll(async () => {
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
    // The balancer's certificate is of another authority than that of the tree.
    const { caPem, certPem, keyPem } = await (await TestTree.create('web')).credentials('lb', 'relay', systemClock, [
      'lb.example.com',
    ]);
    writeFileSync(join(directory, 'carried/lb-ca.crt'), caPem);
    writeFileSync(join(directory, 'lb/lb.pem'), `${certPem}\n${keyPem}`);
    writeFileSync(
      join(directory, 'lb/haproxy.service'),
      `ExecStart=haproxy -db -f ${join(directory, 'lb/haproxy.cfg')}\n`,
    );
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
      if (host === 'lb.example.com') copyFileSync(join(directory, 'carried/ca.crt'), join(directory, 'lb/tree-ca.crt'));
      if (commands.includes('user add')) await until('the center answers', () => on(host, asksCenter).code === 0);
      const { code, out } = on(host, commands);
      expect(code, `${host}: ${commands}${out}`).toBe(0);
    }
    await until('the change through the balancer has arrived', () => breadOfCopies() === '3');
    const shown = () =>
      kubectl('--context', 'space/center/retail', 'get', 'epl', 'shop', '-o', 'jsonpath={.status.display}').out;
    await until('the cluster has reported it', () => shown() === 'available 1/1');
  });

  it('lets a token through the balancer that ends TLS, and no certificate', () => {
    const robot = (...args: string[]) =>
      on('your machine', `kubectl --kubeconfig robot.kubeconfig --context retail ${args.join(' ')}`);
    expect(robot('get', 'cm', 'prices', '-n', 'shop', '-o', 'jsonpath={.data.bread}')).toEqual({ code: 0, out: '3' });
    const watched = robot('get', 'cm', '-n', 'shop', '-w', '-o', 'name', '--request-timeout=2s');
    expect(watched.out).toContain('configmap/prices');
    expect(robot('get', 'cm', '-n', 'shop', '--token', 'wrong').out).toMatch(/Unauthorized|must be logged in/);
    const others = ['--server', 'https://lb.example.com/spaces/retail', '--certificate-authority', 'lb-ca.crt'];
    const byCertificate = kubectl('--context', 'space/center/retail', ...others, 'get', 'cm', '-n', 'shop');
    expect([byCertificate.code, byCertificate.out]).toEqual([1, expect.stringMatching(/Unauthorized|anonymous/)]);
  });

  it.skipIf(withoutAnalyze)(`has units that systemd reads without a remark${withoutAnalyze ?? ''}`, () => {
    const units = ['center', 'eu', 'store-17'].map((host) => {
      const role = { center: 'center', eu: 'relay', 'store-17': 'agent' }[host];
      return join(directory, host, `banyan-${role}.service`);
    });
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], {
      encoding: 'utf8',
    });
    expect([status, `${stdout}${stderr}`]).toEqual([0, '']);
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

  it('names the remedy for a port of root, and for a name of the parent that nobody knows', () => {
    const { code, out } = on(
      'center.example.com',
      `banyan init center --dir "$PWD/ports" --name center.example.com
sed -i 's/6443/443/; s/7443/7444/' ports/center.yaml
setpriv --bounding-set=-net_bind_service ${process.execPath} ${fixture('center/main.ts')} --config ports/center.yaml`,
    );
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/can't listen on \[::\]:443 \(EACCES\): choose port 1024 or above/),
    ]);
    const token = `banyan-join-1.0123456789.${'s'.repeat(43)}.${'p'.repeat(43)}`;
    const lost = on(
      'eu.example.com',
      `banyan init relay --dir "$PWD/lost" --join ${token} --path us --parent nowhere.example.com:7443
${process.execPath} ${fixture('relay/main.ts')} --config lost/relay.yaml > lost.log &
until grep 'not joined yet' lost.log; do sleep 0.2; done
kill $!`,
    );
    // There is no DNS on this host, so nobody can say that the name does not exist.
    expect(lost.out).toMatch(
      /nowhere\.example\.com:7443: .*the name can not be looked up now: correct parent\.address/,
    );
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
