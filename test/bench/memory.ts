/** The memory of a process, by purpose: https://docs.kernel.org/filesystems/proc.html, `smaps`. */
import { readFileSync } from 'node:fs';

/** Bytes. */
export interface Memory {
  /** All resident memory, as `ps` shows it. */
  readonly resident: number;
  /** Memory without a file, which the system cannot take back. */
  readonly own: number;
  /** Memory that other processes share, counted proportionally. */
  readonly proportional: number;
  /** Pages of the store's file, which the system can take back. */
  readonly store: number;
}

export function memoryOf(pid: number): Memory {
  return memoryIn(readFileSync(`/proc/${pid}/smaps`, 'utf8'));
}

/** Parsed from the text of `smaps`. */
export function memoryIn(smaps: string): Memory {
  const sums = { Rss: 0, Anonymous: 0, Pss: 0 };
  let store = 0;
  let isStore = false;
  for (const line of smaps.split('\n')) {
    const [, key, kilobytes] = /^(\w+): +(\d+) kB$/.exec(line) ?? [];
    if (key === undefined) {
      if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isStore = line.endsWith('/data.mdb');
      continue;
    }
    const bytes = Number(kilobytes) * 1_024;
    if (key === 'Rss' || key === 'Anonymous' || key === 'Pss') sums[key] += bytes;
    if (key === 'Rss' && isStore) store += bytes;
  }
  return { resident: sums.Rss, own: sums.Anonymous, proportional: sums.Pss, store };
}
