/** A center without a supervisor, which makes the authority of its tree, takes a changed configuration at SIGHUP. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { freePorts } from '../support/free-ports.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, kubectlBy, until } from './local-tree.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const directory = mkdtempSync(join(tmpdir(), 'banyan-own-'));
const file = (name: string) => join(directory, name);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it.skipIf(withoutKubectl)(
  `serves a space that was added to its configuration, and keeps the configuration if another part differs${why}`,
  async () => {
    const [port] = await freePorts(1);
    const spaces = [{ name: 'shop', type: 'Workload' }];
    const write = (more: object) =>
      writeFileSync(
        file('center.yaml'),
        stringify({
          path: '',
          data: file('data'),
          logFile: file('log'),
          statusFile: file('status.json'),
          pki: { tree: 'retail' },
          api: { port },
          mesh: {},
          spaces,
          ...more,
        }),
      );
    write({});
    const center = spawn(process.execPath, [fixture('center/main.ts'), '--config', file('center.yaml')], {
      stdio: 'ignore',
    });
    try {
      const log = () => (existsSync(file('log')) ? readFileSync(file('log'), 'utf8') : '');
      await until('the center serves', () => existsSync(file('status.json')));
      const isReady = (space: string) =>
        kubectlBy(file('data/kubeconfig'), [
          '--context=node/center',
          'get',
          'space',
          space,
          '-o',
          'jsonpath={.status.url}',
        ]).out.endsWith(`/spaces/${space}`);

      write({ pki: { tree: 'retail', names: ['center.example.com'] } });
      center.kill('SIGHUP');
      await until('the center keeps its configuration', () => log().includes('goes on with its former configuration'));
      expect(log()).toContain('pki: the running node keeps its whole former configuration');

      write({ spaces: [...spaces, { name: 'till', type: 'Workload' }] });
      center.kill('SIGHUP');
      await until('the added space is served', () => isReady('till'));
    } finally {
      const ended = once(center, 'exit');
      center.kill('SIGTERM');
      await ended;
    }
  },
);
