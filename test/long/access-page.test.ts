/** The page docs/operations/access.md: its commands, in order, in the tree that the page names. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { fixture, LocalTree } from '../e2e/local-tree.ts';
import { blocksOf } from '../e2e/page-blocks.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const page = readFileSync(fixture('docs/operations/access.md'), 'utf8');
const blocks = blocksOf(page, (line) => line);

describe.skipIf(withoutKubectl)(`the page about access${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  const files = mkdtempSync(join(tree.data, 'files-'));
  const kubeconfig = join(tree.data, 'kubeconfig');
  const sh = (commands: string) => {
    const env = { ...process.env, PATH: [files, process.env.PATH].join(delimiter), KUBECONFIG: kubeconfig };
    const ran = spawnSync('bash', ['-e', '-o', 'pipefail'], { input: commands, encoding: 'utf8', cwd: files, env });
    return { code: ran.status, out: `${ran.stdout}${ran.stderr}` };
  };
  const ran = new Map<string, string>();
  const block = (word: string) => {
    const found = blocks.find(({ commands }) => commands.includes(word));
    if (!found) throw new Error(`no block of the page has ${word}`);
    return found;
  };

  beforeAll(async () => {
    await tree.up();
    symlinkSync(kubectlProgram, join(files, 'kubectl'));
    // The commands run in a folder of their own, because they write files.
    const banyan = `exec ${process.execPath} ${fixture('center/cli/banyan.ts')} "$@"`;
    writeFileSync(join(files, 'npm'), `#!/bin/sh\n[ "$1 $2 $3" = "exec -- banyan" ] || exit 127\nshift 3\n${banyan}\n`);
    chmodSync(join(files, 'npm'), 0o755);
    const { users: _users, ...withoutUsers } = parse(readFileSync(kubeconfig, 'utf8')) as Record<string, unknown>;
    writeFileSync(join(files, 'robot.kubeconfig'), stringify(withoutUsers));
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('shows what Alice reads before she has a right', () => {
    const { commands, output } = block('user add alice');
    const { code, out } = sh(commands);
    const [before, ...after] = output[0]!.split('…').map((part) => part.trim());
    expect(code).toBe(1);
    expect(out).toContain(before);
    for (const part of after) expect(out).toContain(part);
  });

  it.each(['name: tills', 'create token ci', 'ci-token', 'openssl req'])(
    'has commands that work as they stand: %s',
    (word) => {
      const { code, out } = sh(block(word).commands);
      expect(code, out).toBe(0);
      ran.set(word, out);
    },
  );

  it('gives Alice the rights of her team, and a certificate for her own key', () => {
    expect(ran.get('name: tills')).toMatch(/^yes$/m);
    const login = '--client-key alice.key --client-certificate alice.crt --kubeconfig robot.kubeconfig';
    const asked = sh(`kubectl ${login} --context space/center/retail auth can-i create deployments`);
    expect(asked.out).toMatch(/^yes$/m);
  });

  it('fills in the token of the Secret', async () => {
    await vi.waitFor(() => {
      const { out } = sh(block('ci-token').commands.split('EOF\n').at(-1)!);
      expect(out).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+$/);
      const asked = sh(`kubectl --kubeconfig robot.kubeconfig --context node/center --token ${out} auth whoami`);
      expect(asked.out).toContain('system:serviceaccount:robots:ci');
    });
  });

  it('revokes Alice everywhere', async () => {
    expect(sh(block('user revoke').commands)).toMatchObject({ code: 0 });
    await vi.waitFor(
      () => {
        for (const context of ['space/center/retail', 'node/eu:paris'])
          expect(sh(`kubectl --kubeconfig alice.kubeconfig --context ${context} auth whoami`).out).toContain(
            'the certificate of User "alice" was revoked',
          );
      },
      { timeout: 5_000 },
    );
  });

  it('gives a Prometheus a certificate, and a token for the metrics of all nodes', async () => {
    expect(sh(block('user add prometheus').commands).code).toBe(0);
    const metrics = (context: string, how: string) => sh(`kubectl ${how} --context ${context} get --raw /metrics`).out;
    expect(metrics('node/eu', '--kubeconfig prometheus.kubeconfig')).toContain('# HELP');
    const { code, out } = sh(block('urn:banyan:metrics').commands);
    expect(code, out).toBe(0);
    const token = /^ey\S+$/m.exec(out)![0];
    await vi.waitFor(
      () => {
        for (const context of ['node/center', 'node/eu', 'node/eu:paris', 'cluster/us:market'])
          expect(metrics(context, `--kubeconfig robot.kubeconfig --token ${token}`), context).toContain('# HELP');
      },
      { timeout: 10_000 },
    );
  });

  it('gives a user a certificate from the center, for somebody who has only a kubeconfig', () => {
    copyFileSync(kubeconfig, join(files, 'copy.kubeconfig'));
    const added = (...more: string[]) =>
      sh(`npm exec -- banyan user add bob --kubeconfig copy.kubeconfig ${more.join(' ')}`);
    const { code, out } = added('--group tills', '--ttl 1h');
    expect(code, out).toBe(0);
    writeFileSync(join(files, 'bob.kubeconfig'), out);
    const login = '--kubeconfig bob.kubeconfig --context space/center/retail';
    expect(sh(`kubectl ${login} auth can-i create deployments`).out).toMatch(/^yes$/m);
    expect(sh('kubectl --context node/center get csr -o name').out).not.toContain('banyan-user-add');
    expect(added('--ttl 5m')).toMatchObject({ code: 1, out: expect.stringContaining('600 seconds') });
    expect(added('--group system:masters')).toMatchObject({ code: 1, out: expect.stringContaining('system:masters') });
    const asBob = sh('npm exec -- banyan user add eve --kubeconfig bob.kubeconfig');
    expect(asBob).toMatchObject({ code: 1, out: expect.stringContaining('User "bob" cannot create') });
  });

  it('has a grant for the people of nodes above', () => {
    const grant = /^```yaml\n(# At eu:.*?)^```$/ms.exec(page)![1]!;
    expect(sh(`kubectl --context node/eu apply -f - <<'EOF'\n${grant}EOF\n`).code).toBe(0);
  });
});
