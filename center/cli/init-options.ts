/** The options of `banyan init`. */
import type { ProgramRole } from '../supervisor/programs.ts';

export interface InitOptions {
  readonly role: ProgramRole;
  /** An absolute path. */
  readonly dir: string;
  /** The name of the tree, for a center. */
  readonly tree?: string | undefined;
  /** DNS names and IP addresses at which users reach the API. */
  readonly names: readonly string[];
  /** Names of workload spaces, for a center or a relay. */
  readonly spaces: readonly string[];
  /** The text of a join token, or a file with it, as `banyan join-token` prints it in any format. */
  readonly join?: string | undefined;
  readonly path?: string | undefined;
  /** host:port where the parent listens for its children. */
  readonly parent?: string | undefined;
  /** For an agent: the kubeconfig of its cluster. Absent: the cluster is embedded. */
  readonly cluster?: string | undefined;
}
