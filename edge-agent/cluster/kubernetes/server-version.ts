/** The version of the API server. The agent asks once, and again after `forget`. */
import { BanyanError } from '../../../core/runtime/errors.ts';

export interface ServerVersion {
  readonly gitVersion?: string;
  readonly platform?: string;
  /** Why the version is not known. */
  readonly refusal?: BanyanError;
}

export class ServerVersions {
  readonly #ask: () => Promise<unknown>;
  #asked: Promise<ServerVersion> | undefined;

  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
  }

  /** Makes the next call ask the server. */
  forget(): void {
    this.#asked = undefined;
  }

  async current(): Promise<ServerVersion> {
    this.#asked ??= this.#ask() as Promise<ServerVersion>;
    const asking = this.#asked;
    try {
      const { gitVersion, platform } = (await asking) ?? {};
      return { ...(gitVersion === undefined ? {} : { gitVersion }), ...(platform === undefined ? {} : { platform }) };
    } catch (error) {
      if (this.#asked === asking) this.#asked = undefined;
      if (!(error instanceof BanyanError) || error.code !== 'Forbidden') throw error;
      return { refusal: error };
    }
  }
}
