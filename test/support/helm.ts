/** Stock helm 3 and helm 4, from their Go modules. */
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { builtOnce, type GoModule, notBuilt } from './go-programs.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  /** The standard output, without the messages. */
  readonly stdout: string;
}

/** The fourth version has its own folder, because both programs are named `helm`. */
export type HelmVersion = 3 | 4;
const names = { 3: 'helm', 4: 'helm4' } as const;
const third: readonly GoModule[] = [
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

const fourth: readonly GoModule[] = [
  { directory: join(import.meta.dirname, 'helm4'), packages: { helm: 'helm.sh/helm/v4/cmd/helm' } },
];
const modules = { 3: third, 4: fourth } as const;

/** A text for the titles of tests that can't run. */
export const withoutHelm = notBuilt(names[3], modules[3]);
export const withoutHelm4 = notBuilt(names[4], modules[4]);

/** Builds helm if it is missing. */
export async function helmProgram(version: HelmVersion = 3): Promise<string> {
  return join(await builtOnce(names[version], modules[version]), 'helm');
}

/** Runs helm with an empty home directory, so that no file of the user has an effect. */
export class Helm {
  readonly #program: string;
  readonly #home: string;

  private constructor(program: string, home: string) {
    this.#program = program;
    this.#home = home;
  }

  static async find(home: string, version: HelmVersion = 3): Promise<Helm> {
    return new Helm(await helmProgram(version), home);
  }

  run(...args: readonly string[]): Ran {
    const { status, stdout, stderr } = spawnSync(this.#program, args, { ...this.#options(), encoding: 'utf8' });
    return { code: status ?? -1, out: `${stdout}${stderr}`, stdout };
  }

  /** Like `run`. The test goes on meanwhile. */
  runBeside(...args: readonly string[]): Promise<Ran> {
    return new Promise((done) => {
      const ran = execFile(this.#program, args, this.#options(), (_error, stdout, stderr) =>
        done({ code: ran.exitCode ?? -1, out: `${stdout}${stderr}`, stdout }),
      );
    });
  }

  #options(): { readonly timeout: number; readonly env: NodeJS.ProcessEnv } {
    const directories = Object.fromEntries(
      ['CACHE', 'CONFIG', 'DATA'].map((kind) => [`HELM_${kind}_HOME`, join(this.#home, kind.toLowerCase())]),
    );
    return { timeout: 120_000, env: { ...process.env, ...directories } };
  }
}
