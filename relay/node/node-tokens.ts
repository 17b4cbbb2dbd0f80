/** The tokens that this node takes: those of its ServiceAccounts, and those of people by the issuers of the configuration. */
import type { TokenUsers } from '../../core/apiserver/http/request-users.ts';
import type { TokenIssuer } from '../../core/apiserver/http/token-requests.ts';
import type { UserInfo } from '../../core/apiserver/space.ts';

export class NodeTokens implements TokenIssuer {
  readonly #accounts: TokenIssuer;
  readonly #people: TokenUsers | undefined;

  constructor(accounts: TokenIssuer, people: TokenUsers | undefined) {
    this.#accounts = accounts;
    this.#people = people;
  }

  async userOf(token: string, audiences?: readonly string[]): Promise<UserInfo | undefined> {
    const account = await this.#accounts.userOf(token, audiences);
    // The audiences of people are those of the configuration. Another program that asks for other audiences learns nothing about them.
    if (account || audiences) return account;
    return this.#people?.userOf(token);
  }

  issue(namespace: string, name: string, body: unknown): Promise<object> {
    return this.#accounts.issue(namespace, name, body);
  }
}
