import type { StoreLies } from '../disk.ts';
import type { Host } from '../host.ts';

export interface Canary {
  /** Called once, before the first run. */
  break(): void;
  readonly lies?: (host: Host) => StoreLies | undefined;
}

export type Canaries = Readonly<Record<string, Canary>>;
