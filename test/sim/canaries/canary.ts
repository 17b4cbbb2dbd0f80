import type { StoreFaults } from '../disk.ts';
import type { Host } from '../host.ts';

export interface Canary {
  /** Called once, before the first run. */
  break(): void;
  readonly storeFaults?: (host: Host) => StoreFaults | undefined;
}

export type Canaries = Readonly<Record<string, Canary>>;
