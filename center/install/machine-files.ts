/** The files of a node on a machine without Kubernetes. `banyan init` writes them there; `banyan topology render` writes some of them for that machine. */
import { join } from 'node:path';
import type { ProgramRole } from '../supervisor/programs.ts';

/** Absolute paths on the machine. */
export interface MachineFiles {
  readonly config: string;
  readonly data: string;
  readonly keys: string;
  readonly token: string;
  readonly unit: string;
}

export interface ServiceProgram {
  /** The Node that runs the program, and the program: absolute paths. */
  readonly node: string;
  readonly program: string;
  readonly user: string;
}

export function machineFiles(dir: string, role: ProgramRole): MachineFiles {
  return {
    config: join(dir, `${role}.yaml`),
    data: join(dir, 'data'),
    keys: join(dir, 'keys'),
    token: join(dir, 'join-token'),
    unit: join(dir, `banyan-${role}.service`),
  };
}

/** The ports of a center or a relay, where a topology names none: those of the chart. */
export const servicePorts = { api: 6443, mesh: 7443 } as const;
