/** The Node of the machine, with which people run the examples. README promises that any version from 20 on works. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first Node on the PATH that npm has not put there. If there is none, the Node that runs the tests. */
export function plainNode(): string {
  const places = (process.env.PATH ?? '').split(delimiter).filter((place) => !place.includes('node_modules'));
  return places.map((place) => join(place, 'node')).find(isProgram) ?? process.execPath;
}

export function majorOf(node: string): number {
  return Number(/^v(\d+)\./.exec(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout)?.[1]);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
