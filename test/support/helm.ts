/** Stock helm, from its Go module. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { builtOnce, type GoModule, notBuilt } from './go-programs.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  /** The standard output, without the messages. */
  readonly stdout: string;
}

const name = 'helm';
const modules: readonly GoModule[] = [
  {
    directory: join(import.meta.dirname, 'helm'),
    packages: { helm: 'helm.sh/helm/v3/cmd/helm' },
    // The version of the cluster for which helm renders when there is no cluster. The default is years old.
    variables: {
      'helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor': '1',
      'helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor': '34',
      'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor': '1',
      'helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor': '34',
    },
  },
];

/** A text for the titles of tests that can't run. */
export const withoutHelm = notBuilt(name, modules);

/** Builds helm if it is missing. */
export async function helmProgram(): Promise<string> {
  return join(await builtOnce(name, modules), 'helm');
}

/** Runs helm with an empty home directory, so that no file of the user has an effect. */
export class Helm {
  readonly #program: string;
  readonly #home: string;

  private constructor(program: string, home: string) {
    this.#program = program;
    this.#home = home;
  }

  static async find(home: string): Promise<Helm> {
    return new Helm(await helmProgram(), home);
  }

  run(...args: readonly string[]): Ran {
    const directories = Object.fromEntries(
      ['CACHE', 'CONFIG', 'DATA'].map((kind) => [`HELM_${kind}_HOME`, join(this.#home, kind.toLowerCase())]),
    );
    const env = { ...process.env, ...directories };
    const { status, stdout, stderr } = spawnSync(this.#program, args, { encoding: 'utf8', timeout: 120_000, env });
    return { code: status ?? -1, out: `${stdout}${stderr}`, stdout };
  }
}
