/** Figures as a table for people and as JSON for programs. */
import { cpus, loadavg, release } from 'node:os';
import { type Figure, holds, ratioOf } from './figure.ts';

const titles = ['figure', 'value', 'unit', 'baseline', 'ratio', 'to reach', 'holds'] as const;
/** Columns of numbers end where their title ends. */
const isRight = [false, true, false, true, true, false, false] as const;

export function tableOf(figures: readonly Figure[]): string {
  const rows = [titles as readonly string[], ...figures.map(rowOf)];
  const widths = titles.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (isRight[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

/** The origin of the figures. The load shows how busy the machine was when the run began: with more than a few tenths a CPU, use only ratios. */
export interface Machine {
  readonly node: string;
  readonly cpus: number;
  readonly model: string;
  readonly platform: string;
  readonly release: string;
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  return {
    node: process.version,
    cpus: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    platform: process.platform,
    release: release(),
    loadBefore: loadavg()[0]!,
  };
}

export function machineLine(machine: Machine): string {
  return `node ${machine.node}, ${machine.cpus} x ${machine.model}, load before ${machine.loadBefore.toFixed(1)}`;
}

export function jsonOf(name: string, figures: readonly Figure[], machine: Machine, at: Date): string {
  const measured = figures.map((figure) => ({ ...figure, ratio: ratioOf(figure), holds: holds(figure) }));
  return JSON.stringify({ name, at: at.toISOString(), machine, figures: measured }, null, 2);
}

function rowOf(figure: Figure): string[] {
  const { name, value, unit, baseline, goal } = figure;
  const ratio = ratioOf(figure);
  const held = holds(figure);
  return [
    name,
    shown(value),
    unit,
    baseline ? `${shown(baseline.value)} ${baseline.name}` : '',
    ratio === undefined ? '' : shown(ratio),
    goal ? `${goal.of === 'ratio' ? 'ratio ' : ''}${goal.is} ${goal.bound}` : '',
    held === undefined ? '' : held ? 'yes' : 'NO',
  ];
}

/** Three significant digits. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
  return value.toFixed(digits);
}
