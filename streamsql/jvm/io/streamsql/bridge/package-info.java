/** What Python calls, other than to build frames: docs/design/bridge.md has the contract. */
package io.streamsql.bridge;
